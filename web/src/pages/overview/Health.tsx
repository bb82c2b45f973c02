import {
  Badge,
  compact,
  Bytes,
  ButtonLink,
  cx,
  Dot,
  duration,
  Facts,
  Notice,
  num,
  Panel,
  plural,
  Progress,
  Time,
} from '@/ui'

import { engineEffect, engineName, lagTone, type Overview } from './model'

/** The current problems and their effects. Empty if there are none. */
export function Problems({ now }: { now: Overview }) {
  const down = now.engines.filter((e) => !e.up)
  if (down.length === 0) return null
  return (
    <Notice
      tone="warn"
      title={`${down.map((e) => engineName(e.name)).join(', ')} ${down.length === 1 ? 'does' : 'do'} not answer`}
    >
      {down.map((e) => (
        <p key={e.name}>{engineEffect(e.name)}</p>
      ))}
      <p>
        Livegraph retries continuously. <code>livegraph doctor</code> reports the cause and a fix.
      </p>
    </Notice>
  )
}

/** The engines, the consumers and the dead letters, beside the charts. */
export function Health({ now }: { now: Overview }) {
  const down = now.engines.filter((e) => !e.up).length
  const deadLetters = now.deadLetters.filter((d) => d.open > 0)
  return (
    <div className="overview-rail">
      <Panel title="Engines" note={down === 0 ? 'all answer' : `${down} of ${now.engines.length} down`}>
        <ul className="overview-list">
          {now.engines.map((e) => (
            <li key={e.name}>
              <Dot tone={e.up ? 'ok' : 'bad'} />
              <span className="overview-grow">{engineName(e.name)}</span>
              {e.up ? (
                <span className="muted nowrap">{duration(e.probeSeconds * 1000)}</span>
              ) : (
                <Badge tone="bad">down</Badge>
              )}
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Consumers" note="of the log">
        {now.consumers.length === 0 ? (
          <p className="muted">Consumers run in another process.</p>
        ) : (
          <ul className="overview-list">
            {now.consumers.map((c) => (
              <li key={`${c.topic} ${c.group}`}>
                <span className="overview-grow">
                  <span className="mono">{c.topic}</span>
                  <small className="muted overview-group">{c.group}</small>
                </span>
                <span
                  className={cx(
                    'nowrap',
                    lagTone(c.lagSeconds) === 'neutral' ? 'muted' : `tone-${lagTone(c.lagSeconds)}`,
                  )}
                >
                  {c.lagRecords === 0
                    ? 'caught up'
                    : `${duration(Math.round(c.lagSeconds * 10) * 100)}, ${plural(c.lagRecords, 'record', 'records', compact)}`}
                </span>
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Panel title="Dead letters">
        {deadLetters.length === 0 ? (
          <p className="muted">None open. A dead letter is a record that cannot be processed.</p>
        ) : (
          <div className="stack">
            <ul className="overview-list">
              {deadLetters.map((d) => (
                <li key={d.topic}>
                  <span className="overview-grow mono">{d.topic}</span>
                  <Badge tone="warn">{num(d.open)} open</Badge>
                </li>
              ))}
            </ul>
            <ButtonLink to="/pipeline" size="s">
              Show
            </ButtonLink>
          </div>
        )}
      </Panel>
    </div>
  )
}

/** Details that are needed less often. */
export function Details({ now }: { now: Overview }) {
  return (
    <div className="grid-2">
      <Panel title="Responses" note="by status, a second">
        <Responses now={now} />
      </Panel>
      <Panel title="This process">
        <Facts
          items={[
            ['Roles', now.roles.join(', ') || 'all'],
            ['Started', <Time key="s" at={now.startedAt} absolute />],
            ['Memory', <Bytes key="m" n={now.memoryBytes} />],
            ['Connections', `${num(now.connections)}, ${plural(now.streams, 'stream')}`],
            [
              'Received, sent',
              <span key="io">
                <Bytes n={Math.round(now.rates.bytesIn)} />
                /s, <Bytes n={Math.round(now.rates.bytesOut)} />
                /s
              </span>,
            ],
            now.rates.commands !== null && ['Commands', `${compact(now.rates.commands)}/s`],
          ]}
        />
      </Panel>
    </div>
  )
}

const NAMES: Record<string, string> = {
  '2xx': 'done',
  '3xx': 'not changed',
  '4xx': 'refused',
  '5xx': 'failed',
}

function Responses({ now }: { now: Overview }) {
  const all = now.requests.reduce((sum, r) => sum + r.perSecond, 0)
  return (
    <ul className="overview-answers">
      {now.requests.map((r) => (
        <li key={r.status}>
          <span className="row spread">
            <span>
              {r.status} <span className="muted">{NAMES[r.status]}</span>
            </span>
            <span>{compact(r.perSecond)}</span>
          </span>
          <Progress
            label={`${r.status} of all responses`}
            value={all === 0 ? 0 : r.perSecond}
            max={all || 1}
          />
        </li>
      ))}
    </ul>
  )
}
