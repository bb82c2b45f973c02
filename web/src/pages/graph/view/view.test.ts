import { describe, expect, it } from 'vitest'

import { EMPTY, withEdges, withNodes, type Canvas } from '../model/canvas'
import { edge, node } from '../model/fixtures'
import { ENTITY_TYPES } from '../model/types'
import { interpolate, boundsOf, fit, reveal, INITIAL_CAMERA, toScreen, toWorld, zoomAt } from './camera'
import { arrowOf, controlPoint, distanceToCurve, distanceToSegment, onCurve } from './geometry'
import { edgeAt, nearestNode, nodeAt, nodeTowards } from './hit'
import { chooseLabels, shorten, type Label } from './labels'
import { radiusOf, sceneOf } from './scene'
import { addShape, polygonPoints } from './shapes'

const size = { width: 800, height: 600 }

describe('the camera', () => {
  it('keeps the point under the pointer fixed while it zooms', () => {
    const at = { x: 300, y: 120 }
    const camera = { x: 40, y: -30, k: 0.8 }
    const before = toWorld(camera, at)
    const after = toScreen(zoomAt(camera, at, 2.5), before)
    expect(after.x).toBeCloseTo(at.x)
    expect(after.y).toBeCloseTo(at.y)
  })

  it('limits the zoom in both directions', () => {
    expect(zoomAt(INITIAL_CAMERA, { x: 0, y: 0 }, 1e9).k).toBe(6)
    expect(zoomAt(INITIAL_CAMERA, { x: 0, y: 0 }, 1e-9).k).toBe(0.05)
  })

  it('fits and centres a bounding box', () => {
    const bounds = boundsOf([-1000, -50, 3000, 50, NaN, NaN])
    expect(bounds).toEqual({ left: -1000, top: -50, right: 3000, bottom: 50 })
    const camera = bounds ? fit(bounds, size) : INITIAL_CAMERA
    expect(toScreen(camera, { x: -1000, y: 0 }).x).toBeCloseTo(48)
    expect(toScreen(camera, { x: 3000, y: 0 }).x).toBeCloseTo(752)
    // Centred in the area below the toolbar.
    expect(toScreen(camera, { x: 1000, y: 0 }).y).toBeCloseTo(84 + (600 - 84 - 48) / 2)
  })

  it('limits the zoom for a single node', () => {
    expect(fit({ left: 0, top: 0, right: 0, bottom: 0 }, size).k).toBe(1.6)
    expect(boundsOf([NaN, NaN])).toBeNull()
  })

  it('moves only as far as necessary', () => {
    expect(reveal(INITIAL_CAMERA, { x: 400, y: 300 }, size)).toBe(INITIAL_CAMERA)
    expect(reveal(INITIAL_CAMERA, { x: 1000, y: 300 }, size)).toEqual({ x: -260, y: 0, k: 1 })
  })

  it('interpolates between two positions', () => {
    expect(interpolate(INITIAL_CAMERA, { x: 10, y: 20, k: 3 }, 0.5)).toEqual({ x: 5, y: 10, k: 2 })
  })
})

describe('edge geometry', () => {
  const a = { x: 0, y: 0 }
  const b = { x: 100, y: 0 }

  it('bends an edge by the given distance', () => {
    const middle = onCurve(a, controlPoint(a, b, 14), b, 0.5)
    expect(Math.hypot(middle.x - 50, middle.y)).toBeCloseTo(14)
    // In the reverse direction the bend is on the other side, so that two edges between two nodes do not overlap.
    const back = onCurve(b, controlPoint(b, a, 14), a, 0.5)
    expect(Math.sign(back.y)).toBe(-Math.sign(middle.y))
  })

  it('measures the distance of a point to segments and curves', () => {
    expect(distanceToSegment({ x: 50, y: 7 }, a, b)).toBe(7)
    expect(distanceToSegment({ x: -3, y: 4 }, a, b)).toBe(5)
    expect(distanceToSegment({ x: 3, y: 4 }, a, a)).toBe(5)
    const control = controlPoint(a, b, 20)
    expect(distanceToCurve({ x: 50, y: -20 }, a, control, b)).toBeLessThan(1)
  })

  it('places the arrow at the border of the target', () => {
    expect(arrowOf(a, b, 0, 10)).toEqual({ tip: { x: 90, y: 0 }, angle: 0 })
    expect(arrowOf(a, { x: 5, y: 0 }, 0, 10)).toBeNull()
  })
})

const canvas = (ids: string[], edges: [string, string, string][] = []): Canvas =>
  withEdges(
    withNodes(
      EMPTY,
      ids.map((id) => node(id)),
    ).canvas,
    edges.map(([id, from, to]) => edge(id, from, to)),
  )

describe('the scene', () => {
  it('draws parallel edges and loops with different bends', () => {
    const scene = sceneOf(
      canvas(
        ['a', 'b'],
        [
          ['1', 'a', 'b'],
          ['2', 'b', 'a'],
          ['3', 'a', 'b'],
          ['4', 'a', 'a'],
          ['5', 'a', 'a'],
        ],
      ),
    )
    const bends = scene.edges.map(({ bend }) => bend)
    expect(new Set(bends).size).toBe(5)
    expect(
      bends
        .slice(0, 3)
        .map(Math.abs)
        .sort((x, y) => x - y),
    ).toEqual([0, 14, 14])
    expect(scene.edgesOf[0]).toEqual([0, 1, 2, 3, 4])
    expect(scene.edgesOf[1]).toEqual([0, 1, 2])
  })

  it('shows invisible characters in a name', () => {
    const scene = sceneOf(withNodes(EMPTY, [node('a', { name: 'pump\u202e7\nx' })]).canvas)
    expect(scene.nodes[0]?.name).toBe('pump[U+202E]7␊x')
  })

  it('draws hubs larger, up to a maximum', () => {
    expect(radiusOf(4)).toBeGreaterThan(radiusOf(1))
    expect(radiusOf(100_000)).toBe(20)
  })
})

describe('hit testing', () => {
  const scene = sceneOf(
    canvas(
      ['a', 'b', 'c'],
      [
        ['1', 'a', 'b'],
        ['2', 'a', 'b'],
        ['3', 'c', 'c'],
      ],
    ),
  )
  const xy = [0, 0, 100, 0, NaN, NaN]

  it('finds the nearest node within the tolerance', () => {
    expect(nodeAt(scene, xy, { x: 4, y: 4 }, 2)).toBe(0)
    expect(nodeAt(scene, xy, { x: 50, y: 0 }, 2)).toBe(-1)
    expect(nearestNode(scene, xy, { x: 60, y: 0 })).toBe(1)
  })

  it('distinguishes parallel edges', () => {
    const [above, below] = [edgeAt(scene, xy, { x: 50, y: -7 }, 3), edgeAt(scene, xy, { x: 50, y: 7 }, 3)]
    expect([above, below].sort()).toEqual([0, 1])
    expect(edgeAt(scene, xy, { x: 50, y: 40 }, 3)).toBe(-1)
  })
})

describe('the arrow keys', () => {
  const scene = sceneOf(canvas(['m', 'l', 'r', 'u', 'far']))
  const xy = [0, 0, -50, 5, 60, -10, 3, -40, 400, 0]

  it.each([
    ['left', 1],
    ['right', 2],
    ['up', 3],
    ['down', -1],
  ] as const)('select the next node: %s', (direction, index) => {
    expect(nodeTowards(scene, xy, 0, direction)).toBe(index)
  })
})

describe('labels', () => {
  const label = (index: number, x: number, weight: number): Label => ({
    index,
    x,
    y: 0,
    width: 40,
    height: 14,
    weight,
  })

  it('do not overlap, and labels with more weight have priority', () => {
    const chosen = chooseLabels([label(0, 0, 1), label(1, 20, 5), label(2, 80, 2)], 10)
    expect(chosen.map(({ index }) => index)).toEqual([1, 2])
  })

  it('are limited in number, except for required ones', () => {
    const chosen = chooseLabels(
      [label(0, 0, 1), label(1, 100, 2), label(2, 10, Infinity), label(3, 12, Infinity)],
      1,
    )
    expect(chosen.map(({ index }) => index)).toEqual([2, 3])
  })

  it('do not overlap obstacles', () => {
    expect(chooseLabels([label(0, 0, 1)], 10, [{ x: 15, y: 0, width: 10, height: 10 }])).toEqual([])
  })

  it('are truncated between grapheme clusters', () => {
    expect(shorten('Pump 7', 20)).toBe('Pump 7')
    expect(shorten('👩‍🔧👩‍🔧👩‍🔧👩‍🔧👩‍🔧', 3)).toBe('👩‍🔧👩‍🔧…')
  })
})

describe('shapes', () => {
  it('are different for each type', () => {
    const at = { x: 10, y: 10 }
    const drawn = ENTITY_TYPES.map((type) => {
      const strokes: string[] = []
      addShape(
        {
          moveTo: () => strokes.push('m'),
          lineTo: () => strokes.push('l'),
          arc: () => strokes.push('a'),
          closePath: () => strokes.push('z'),
        },
        type,
        at,
        5,
      )
      return strokes.join('')
    })
    expect(new Set(drawn).size, drawn.join(' ')).toBe(ENTITY_TYPES.length)
    expect(drawn[ENTITY_TYPES.indexOf('object')]).toBe('maz')
    expect(drawn[ENTITY_TYPES.indexOf('actor')]).toBe('mllz')
    expect(polygonPoints('object', at, 5)).toBeNull()
    expect(polygonPoints('actor', at, 5)?.split(' ').length).toBe(3)
  })
})
