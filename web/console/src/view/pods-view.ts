import type { EventView, PodView } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import type { ConsoleApi } from '../api/console-api.ts'
import type { ConsoleState } from '../state/console-state.ts'
import { LogView } from './log-view.ts'
import { nameSection, section } from './sections.ts'
import { type Panel, Redrawn } from './panel.ts'
import { ageText, counted, whenText } from './texts.ts'
import { table } from './table.ts'

/** All Pods, those of models first. */
export class PodsView implements Panel {
  readonly element: HTMLElement
  readonly #list: Redrawn

  constructor() {
    const list = element('div', {})
    this.#list = new Redrawn(list)
    this.element = section('Pods', list)
  }

  update(state: ConsoleState, now: number): void {
    const pods = state.list('pod').sort((one, other) => Number(isOther(one)) - Number(isOther(other)))
    const ages = pods.map(({ createdAt }) => ageText(createdAt, now))
    const { podsLeftOut } = state
    this.#list.draw([pods, ages, podsLeftOut], () => [
      table(
        ['Pod', 'Status', 'Ready', 'Model', 'Node', 'Age'],
        pods.map((pod, at) => [podLink(pod), pod.status, pod.ready, pod.model ?? '', pod.node ?? '', ages[at] ?? '']),
        'No Pod runs: models start theirs when somebody asks.',
      ),
      ...(podsLeftOut === 0
        ? []
        : [element('p', { class: 'faint' }, `${podsLeftOut} more are not shown; use kubectl.`)]),
    ])
  }
}

/** One Pod: what happened to it, and what it writes. */
export class PodDetail implements Panel {
  readonly element: HTMLElement
  readonly #namespace: string
  readonly #name: string
  readonly #facts: Redrawn
  readonly #events = element('div', {})
  readonly #logBlock: HTMLElement
  readonly #api: ConsoleApi
  #log: LogView | undefined
  #status: string | undefined

  constructor(api: ConsoleApi, namespace: string, name: string) {
    this.#api = api
    this.#namespace = namespace
    this.#name = name
    const facts = element('div', { class: 'tile facts' })
    this.#facts = new Redrawn(facts)
    this.#logBlock = section('Log')
    this.element = element(
      'div',
      { class: 'detail' },
      element('a', { class: 'back', href: '#/pods' }, '← All Pods'),
      nameSection(name, facts),
      this.#logBlock,
      section('Events', this.#events),
    )
  }

  update(state: ConsoleState, now: number): void {
    const pod = state.get('pod', `${this.#namespace}/${this.#name}`)
    const age = ageText(pod?.createdAt, now)
    this.#facts.draw([pod, age], () => (pod ? podFacts(pod, age) : [element('p', {}, 'This Pod is gone.')]))
    if (pod && !this.#log) {
      this.#log = new LogView(this.#api, pod)
      this.#logBlock.append(this.#log.element)
    }
    // Events are read when the Pod changes; asking for them all the time would help nobody.
    if (pod?.status === this.#status) return
    this.#status = pod?.status
    void this.#showEvents()
  }

  close(): void {
    this.#log?.close()
  }

  async #showEvents(): Promise<void> {
    this.#events.replaceChildren(await eventList(this.#api, 'Pod', this.#namespace, this.#name))
  }
}

export async function eventList(api: ConsoleApi, kind: string, namespace: string, name: string): Promise<HTMLElement> {
  try {
    const events = await api.ask<EventView[]>(
      `events/${kind}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`,
    )
    if (events.length === 0) return element('p', { class: 'empty' }, 'No events.')
    const rows = events.map(({ at, type, reason, message, count }) => [
      whenText(at),
      type === 'Normal' ? reason : element('strong', { class: 'warning' }, reason),
      count > 1 ? `${message} (${count} times)` : message,
    ])
    return table(['When', 'What', 'Message'], rows)
  } catch (error) {
    return element('p', { class: 'empty' }, error instanceof Error ? error.message : String(error))
  }
}

function podFacts({ status, ready, model, node, restarts, message }: PodView, age: string): Node[] {
  const facts = [`${status}, ${ready} ready`, counted(restarts, 'restart'), `made ${age}`]
  if (node !== undefined) facts.push(`on ${node}`)
  const owner =
    model === undefined ? [] : [element('p', {}, 'Of the model ', element('a', { href: `#/models/${model}` }, model))]
  return [element('p', {}, facts.join(' · ')), ...owner, ...(message === undefined ? [] : [element('p', {}, message)])]
}

function podLink({ namespace, name }: PodView): HTMLElement {
  return element('a', { href: `#/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}` }, name)
}

function isOther({ model }: PodView): boolean {
  return model === undefined
}
