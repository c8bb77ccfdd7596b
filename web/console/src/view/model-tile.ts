import type { ModelView } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import type { ConsoleApi } from '../api/console-api.ts'
import { holderClass } from '../pictures/svg.ts'
import { trafficLine } from '../pictures/traffic-line.ts'
import type { ConsoleState } from '../state/console-state.ts'
import { ask } from './confirm-dialog.ts'
import { Redrawn } from './panel.ts'
import { agoText, counted, durationText } from './texts.ts'

/** One model: what it does, how busy it was, and what one can do with it. */
export class ModelTile {
  readonly element: HTMLElement
  readonly #api: ConsoleApi
  readonly #mayAct: boolean
  readonly #facts: Redrawn
  readonly #traffic: Redrawn
  readonly #wake = element('button', { class: 'button', type: 'button' }, 'Wake')
  readonly #sleep = element('button', { class: 'button', type: 'button' }, 'Sleep')
  readonly #scale = element('button', { class: 'button', type: 'button' }, 'Scale')
  #model: ModelView

  constructor(model: ModelView, api: ConsoleApi, mayAct: boolean) {
    this.#model = model
    this.#api = api
    this.#mayAct = mayAct
    const { name } = model
    const facts = element('div', { class: 'model-facts' })
    const traffic = element('div', { class: 'model-traffic' })
    this.#facts = new Redrawn(facts)
    this.#traffic = new Redrawn(traffic)
    for (const [button, verb] of [
      [this.#wake, 'Wake'],
      [this.#sleep, 'Put to sleep:'],
      [this.#scale, 'Scale'],
    ] as const) {
      button.setAttribute('aria-label', `${verb} ${name}`)
    }
    this.#wake.addEventListener('click', () => this.#askToWake())
    this.#sleep.addEventListener('click', () => this.#askToSleep())
    this.#scale.addEventListener('click', () => this.#askToScale())
    const actions = element('div', { class: 'model-actions' }, this.#wake, this.#sleep, this.#scale)
    this.element = element(
      'article',
      { class: 'tile model', 'data-model': name, 'aria-label': `Model ${name}` },
      facts,
      traffic,
      ...(mayAct ? [actions] : []),
    )
  }

  update(model: ModelView, state: ConsoleState, now: number): void {
    this.#model = model
    const isAwake = model.wanted > 0
    this.element.dataset['phase'] = model.phase
    this.#wake.hidden = isAwake
    this.#sleep.hidden = !isAwake
    this.#scale.hidden = model.max <= 1
    const since = model.lastActiveAt === undefined ? undefined : agoText(model.lastActiveAt, now)
    this.#facts.draw([model, since], () => factsOf(model, since))
    const samples = state.recent.samples
    this.#traffic.draw([samples.length, samples.at(-1)?.at], () => [trafficLine(model.name, state.recent)])
  }

  #askToWake(): void {
    const { name, profile, lastLoadSeconds } = this.#model
    const took = lastLoadSeconds === undefined ? '' : ` The last load took ${durationText(lastLoadSeconds * 1000)}.`
    ask({
      title: `Wake ${name}?`,
      text: `A replica starts and holds ${profile} until nobody has asked for a while.${took}`,
      act: 'Wake',
      run: () => this.#act('wake'),
    })
  }

  #askToSleep(): void {
    const { name, active = 0, waiting = 0 } = this.#model
    const busy = active + waiting
    const requests = busy === 0 ? 'Nobody is asking it now.' : `${counted(busy, 'request')} are answered first.`
    ask({
      title: `Put ${name} to sleep?`,
      text: `Its replicas end and give back their cards. ${requests} The next request wakes it again.`,
      act: 'Put to sleep',
      run: () => this.#act('sleep'),
    })
  }

  #askToScale(): void {
    const { name, min, max, wanted } = this.#model
    const input = element('input', {
      id: 'replicas',
      type: 'number',
      min: String(min),
      max: String(max),
      value: String(wanted),
      required: true,
    })
    const field = element('p', { class: 'dialog-field' }, element('label', { for: 'replicas' }, 'Replicas'), input)
    ask({
      title: `Scale ${name}`,
      text: `Between ${min} and ${max}. The autoscaler goes on from there.`,
      act: 'Scale',
      field,
      run: () => this.#act('scale', { replicas: Number(input.value) }),
    })
  }

  #act(verb: 'wake' | 'sleep' | 'scale', body?: unknown): Promise<unknown> {
    if (!this.#mayAct) return Promise.resolve()
    const path = `models/${encodeURIComponent(this.#model.name)}/${verb}`
    return this.#api.ask(path, { method: 'POST', ...(body === undefined ? {} : { body }) })
  }
}

function factsOf(model: ModelView, since: string | undefined): Node[] {
  const { name, phase, loading, message, engine, profile, wanted, ready, active, waiting } = model
  const title = element(
    'header',
    {},
    element('span', { class: `swatch ${holderClass(name)}`, 'aria-hidden': 'true' }),
    element('h3', {}, element('a', { href: `#/models/${encodeURIComponent(name)}` }, name)),
    element('span', { class: `state is-${phase.toLowerCase()}`, 'data-testid': 'state' }, phase),
  )
  const replicas = wanted === 0 && ready === 0 ? 'holds no card' : `${ready} of ${counted(wanted, 'replica')} ready`
  const traffic =
    active === undefined
      ? []
      : [
          active + (waiting ?? 0) === 0
            ? `quiet${since === undefined ? '' : `, last asked ${since}`}`
            : trafficText(active, waiting ?? 0),
        ]
  const lines = [
    element('p', { class: 'model-line' }, [replicas, ...traffic].join(' · ')),
    element('p', { class: 'model-line faint' }, `${engine} · ${profile}`),
  ]
  const problem = phase === 'Failed' || loading?.stalled ? message : undefined
  return [
    title,
    ...lines,
    ...(loading ? [loadingBar(name, loading)] : []),
    ...(problem === undefined ? [] : [element('p', { class: 'model-problem' }, problem)]),
  ]
}

function trafficText(active: number, waiting: number): string {
  return waiting === 0 ? `${active} answering` : `${active} answering, ${waiting} waiting`
}

function loadingBar(name: string, { phase, percent, progress, since }: NonNullable<ModelView['loading']>): HTMLElement {
  const bar = element('progress', {
    max: '100',
    'aria-label': `${name} loads`,
    ...(percent === undefined ? {} : { value: String(percent) }),
  })
  const words = progress === phase ? phase : `${phase} ${progress}`
  return element('div', { class: 'loading' }, bar, element('span', { title: `since ${since}` }, words))
}
