import type {
  CardView,
  CenterView,
  ClusterView,
  ExposureView,
  HistoryPart,
  HistorySample,
  HistoryView,
  KeyView,
  ModelView,
  NodeView,
  PodView,
  PullView,
  UsageView,
  WakeView,
} from '../../../../src/management/console/console-shapes.ts'
import { asShape } from '../api/as-shape.ts'

interface Shapes {
  model: ModelView
  card: CardView
  pod: PodView
  node: NodeView
  wake: WakeView
  pull: PullView
  exposure: ExposureView
  cluster: ClusterView
  center: CenterView
  key: KeyView
  usage: UsageView
}

/** A message of the live stream. */
export interface Change {
  readonly changed: Readonly<Record<string, unknown>>
  readonly removed: readonly string[]
}

const recentSamples = 360

/** What the server has told so far. */
export class ConsoleState {
  readonly #items = new Map<string, unknown>()
  #recent: HistorySample[] = []
  #day: HistoryPart = { everyMs: 300_000, samples: [] }

  apply({ changed, removed }: Change, isWhole: boolean): void {
    if (isWhole) this.#items.clear()
    for (const [key, value] of Object.entries(changed)) this.#items.set(key, value)
    for (const key of removed) this.#items.delete(key)
    const sample = asShape<HistorySample | undefined>(changed['sample'])
    if (sample) this.#addSample(sample)
  }

  setHistory({ recent, day }: HistoryView): void {
    this.#recent = [...recent.samples]
    this.#day = day
  }

  get recent(): HistoryPart {
    return { everyMs: 10_000, samples: this.#recent }
  }

  get day(): HistoryPart {
    return this.#day
  }

  /** How many Pods there are beyond those that were sent. */
  get podsLeftOut(): number {
    return Number(this.#items.get('left-out/pods') ?? 0)
  }

  get<Kind extends keyof Shapes>(kind: Kind, name: string): Shapes[Kind] | undefined {
    return asShape<Shapes[Kind] | undefined>(this.#items.get(`${kind}/${name}`))
  }

  /** In the order of their names, so that nothing jumps about. */
  list<Kind extends keyof Shapes>(kind: Kind): Shapes[Kind][] {
    const found = [...this.#items].filter(([key]) => key.startsWith(`${kind}/`))
    found.sort(([one], [other]) => (one < other ? -1 : 1))
    return found.map(([, value]) => asShape<Shapes[Kind]>(value))
  }

  #addSample(sample: HistorySample): void {
    if ((this.#recent.at(-1)?.at ?? 0) >= sample.at) return
    this.#recent = [...this.#recent, sample].slice(-recentSamples)
  }
}
