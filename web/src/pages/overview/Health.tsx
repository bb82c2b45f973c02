import {
  Badge,
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

import { engineMeaning, engineName, lagTone, type Overview } from './model'

/** The engines, the consumers, what lies aside, and the process. */
export function Health({ now }: { now: Overview }) {
  const down = now.engines.filter((e) => !e.up)
  const dead = now.deadLetters.reduce((sum, d) => sum + d.open, 0)
  return (
    <>
      {down.length > 0 && (
        <Notice
          tone="warn"
          title={`${down.map((e) => engineName(e.name)).join(', ')} ${down.length === 1 ? 'does' : 'do'} not answer`}
        >
          {down.map((e) => (
            <p key={e.name}>{engineMeaning(e.name)}</p>
          ))}
          <p>
            It is tried again all the time. <code>livegraph doctor</code> says what is wrong and what to do.
          </p>
        </Notice>
      )}
      <div className="overview-panels">
        <Panel title="Engines" note={down.length === 0 ? 'all answer' : undefined}>
          <ul className="overview-engines">
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
        <Panel title="Consumers" note="how far behind the log">
          {now.consumers.length === 0 ? (
            <p className="muted">Another process reads the log.</p>
          ) : (
            <ul className="overview-engines">
              {now.consumers.map((c) => (
                <li key={c.topic}>
                  <span className="overview-grow mono">{c.topic}</span>
                  <span
                    className={cx(
                      'nowrap',
                      lagTone(c.lagSeconds) === 'neutral' ? 'muted' : `tone-${lagTone(c.lagSeconds)}`,
                    )}
                  >
                    {c.lagRecords === 0
                      ? 'at the end'
                      : `${plural(c.lagRecords, 'record')}, ${duration(Math.round(c.lagSeconds * 10) * 100)}`}
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Panel>
        <Panel title="Answers" note="by status, a second">
          <Answers now={now} />
        </Panel>
        <Panel
          title="Dead letters"
          actions={
            dead > 0 && (
              <ButtonLink to="/pipeline" size="s">
                Look at them
              </ButtonLink>
            )
          }
        >
          {dead === 0 ? (
            <p className="muted">
              None is open. Records that cannot be worked on would wait here to be looked at.
            </p>
          ) : (
            <ul className="overview-engines">
              {now.deadLetters
                .filter((d) => d.open > 0)
                .map((d) => (
                  <li key={d.topic}>
                    <span className="overview-grow mono">{d.topic}</span>
                    <Badge tone="warn">{num(d.open)} open</Badge>
                  </li>
                ))}
            </ul>
          )}
        </Panel>
        <Panel title="This process">
          <Facts
            items={[
              ['Roles', now.roles.join(', ') || 'all'],
              ['Started', <Time key="s" at={now.startedAt} absolute />],
              ['Memory', <Bytes key="m" n={now.memoryBytes} />],
              ['Connections', num(now.connections)],
              ['Open streams', num(now.streams)],
              [
                'Received',
                <span key="in">
                  <Bytes n={now.rates.bytesIn} />
                  /s
                </span>,
              ],
              [
                'Sent',
                <span key="out">
                  <Bytes n={now.rates.bytesOut} />
                  /s
                </span>,
              ],
              now.rates.commands !== null && [
                'Commands',
                `${num(Math.round(now.rates.commands * 10) / 10)}/s`,
              ],
            ]}
          />
        </Panel>
      </div>
    </>
  )
}

const NAMES: Record<string, string> = {
  '2xx': 'done',
  '3xx': 'not changed',
  '4xx': 'refused',
  '5xx': 'failed',
}

function Answers({ now }: { now: Overview }) {
  const all = now.requests.reduce((sum, r) => sum + r.perSecond, 0)
  return (
    <ul className="overview-answers">
      {now.requests.map((r) => (
        <li key={r.status}>
          <span className="row spread">
            <span>
              {r.status} <span className="muted">{NAMES[r.status]}</span>
            </span>
            <span>{num(Math.round(r.perSecond * 100) / 100)}</span>
          </span>
          <Progress label={`${r.status} of all answers`} value={all === 0 ? 0 : r.perSecond} max={all || 1} />
        </li>
      ))}
    </ul>
  )
}
