import { sluice } from './policies.ts'
import { type Outcome, simulate } from './simulate.ts'
import { type Trace, makeTraces } from './traces.ts'

// Draws a day of a model as the autoscaler's own `decide` has it: how many requests there are, and how many replicas.

const daySeconds = 86_400
const stepSeconds = 120
const coldStartSeconds = 30
const settings = { idleWindowSeconds: 600, scaleDownDelaySeconds: 30 }

const [width, left, right] = [860, 40, 24]
const requestsPanel = { top: 34, height: 120 }
const replicasPanel = { top: 204, height: 100 }
const colours = { requests: '#d98a1f', replicas: '#0f7b84', line: '#d5dedd', text: '#4a5a5a' }

export interface DayFigure {
  readonly svg: string
  readonly outcome: Outcome
}

/** The most that there was of something in each step of the day. */
interface DaySteps {
  readonly requests: readonly number[]
  readonly replicas: readonly number[]
}

export function dayFigure(): DayFigure {
  const trace = firstDay()
  const requests = Array.from({ length: daySeconds / stepSeconds }, () => 0)
  const replicas = [...requests]
  const outcome = simulate(trace, sluice(trace, settings), coldStartSeconds, ({ at, concurrency, replicas: now }) => {
    const step = Math.min(requests.length - 1, Math.floor(at / stepSeconds))
    requests[step] = Math.max(requests[step] ?? 0, concurrency)
    replicas[step] = Math.max(replicas[step] ?? 0, now)
  })
  return { svg: draw({ requests, replicas }, trace), outcome }
}

function firstDay(): Trace {
  const [officeHours] = makeTraces(1)
  if (!officeHours) throw new Error('there is no trace')
  return { ...officeHours, seconds: daySeconds, arrivals: officeHours.arrivals.filter(({ at }) => at < daySeconds) }
}

function draw({ requests, replicas }: DaySteps, { targetRequests, maxReplicas }: Trace): string {
  const [mostRequests, mostReplicas] = [Math.max(...requests), Math.max(...replicas)]
  const hours = [0, 3, 6, 9, 12, 15, 18, 21, 24]
  const bottom = replicasPanel.top + replicasPanel.height
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${bottom + 30}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    ...hours.flatMap((hour) => [
      `<path d="M${x(hour * 3600)} ${requestsPanel.top}V${bottom}" stroke="${colours.line}"/>`,
      text(x(hour * 3600), bottom + 20, `${String(hour).padStart(2, '0')}:00`, 'middle'),
    ]),
    text(left, requestsPanel.top - 10, `requests at a time (a replica is to have ${targetRequests})`),
    text(left - 6, requestsPanel.top + 10, String(mostRequests), 'end'),
    area(requests, mostRequests, requestsPanel, colours.requests),
    text(
      left,
      replicasPanel.top - 10,
      `replicas (${maxReplicas} at most); where there are none the model sleeps, and its cards are free`,
    ),
    text(left - 6, replicasPanel.top + 10, String(mostReplicas), 'end'),
    area(replicas, mostReplicas, replicasPanel, colours.replicas),
    '</svg>',
    '',
  ].join('\n')
}

function x(seconds: number): number {
  return Math.round((left + ((width - left - right) * seconds) / daySeconds) * 10) / 10
}

/** Steps from one value to the next, down to the bottom of the panel. */
function area(values: readonly number[], most: number, panel: { top: number; height: number }, colour: string): string {
  const bottom = panel.top + panel.height
  const y = (value: number) => Math.round(bottom - (panel.height * value) / most)
  const steps = values.map((value, index) => ({ value, from: index * stepSeconds }))
  const changes = steps.filter(({ value }, index) => value !== values[index - 1])
  const path = changes.map(({ value, from }) => `H${x(from)}V${y(value)}`).join('')
  return `<path d="M${left} ${bottom}${path}H${width - right}V${bottom}Z" fill="${colour}"/>`
}

function text(at: number, y: number, words: string, anchor = 'start'): string {
  return `<text x="${at}" y="${y}" fill="${colours.text}" text-anchor="${anchor}">${words}</text>`
}
