import type { KeyView, NewKeyView, SessionView } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import type { ConsoleApi } from '../api/console-api.ts'
import type { ConsoleState } from '../state/console-state.ts'
import { ask } from './confirm-dialog.ts'
import { choice, field } from './form-dialog.ts'
import { sectionWith } from './sections.ts'
import { type Panel, Redrawn } from './panel.ts'
import { table } from './table.ts'
import { ageText } from './texts.ts'

/** The keys of the enterprise: which there are, a new one, one less. */
export class KeysView implements Panel {
  readonly element: HTMLElement
  readonly #api: ConsoleApi
  readonly #session: SessionView
  readonly #list: Redrawn
  readonly #made = element('div', { role: 'status' })

  constructor(api: ConsoleApi, session: SessionView) {
    this.#api = api
    this.#session = session
    const list = element('div', {})
    this.#list = new Redrawn(list)
    const make = element('button', { class: 'button primary', type: 'button' }, 'Make a key')
    make.addEventListener('click', () => this.#askToMake())
    const actions = session.readOnly === undefined ? [make] : []
    this.element = sectionWith('Keys', actions, this.#made, list)
  }

  update(state: ConsoleState, now: number): void {
    const keys = state.list('key')
    const ages = keys.map(({ createdAt }) => ageText(createdAt, now))
    this.#list.draw([keys, ages], () => [
      table(
        ['Name', 'For', 'Access key', 'Models', 'State', 'Made', 'Action'],
        keys.map((key, at) => [
          key.name,
          key.use === 'Inference' ? 'asking models' : 'management and console',
          element('code', {}, key.accessKey),
          key.use === 'Inference' ? (key.allowedModels?.join(', ') ?? 'all') : '',
          stateOf(key, now),
          ages[at] ?? '',
          this.#revokeButton(key),
        ]),
      ),
    ])
  }

  #revokeButton({ name }: KeyView): Node | string {
    if (name === this.#session.key) return 'in use here'
    if (this.#session.readOnly !== undefined) return ''
    const button = element('button', { class: 'link-button', type: 'button', 'aria-label': `Revoke ${name}` }, 'Revoke')
    button.addEventListener('click', () =>
      ask({
        title: `Revoke ${name}?`,
        text: 'Whoever uses this key is refused from now on. This cannot be undone.',
        act: 'Revoke',
        run: () => this.#api.ask(`keys/${encodeURIComponent(name)}`, { method: 'DELETE' }),
      }),
    )
    return button
  }

  #askToMake(): void {
    const name = field('key-name', { label: 'Name', hint: 'Lower-case letters, digits and dashes.' })
    const use = choice('key-use', 'For', [
      ['Inference', 'asking models'],
      ['Management', 'management and console'],
    ])
    const models = field('key-models', {
      label: 'Models',
      hint: 'Names with commas between them; empty for all.',
      required: false,
    })
    const days = field('key-days', {
      label: 'Days until it expires',
      hint: 'Empty: never.',
      type: 'number',
      required: false,
    })
    use.input.addEventListener('change', () => {
      models.row.hidden = use.input.value !== 'Inference'
    })
    ask({
      title: 'Make a key',
      text: 'Its secret is shown once.',
      act: 'Make',
      field: element('div', {}, name.row, use.row, models.row, days.row),
      run: async () => {
        const names = models.input.value
          .split(',')
          .map((model) => model.trim())
          .filter((model) => model !== '')
        const body = {
          name: name.input.value.trim(),
          use: use.input.value,
          ...(use.input.value === 'Inference' && names.length > 0 ? { models: names } : {}),
          ...(days.input.value === '' ? {} : { days: Number(days.input.value) }),
        }
        this.#show(await this.#api.ask<NewKeyView>('keys', { method: 'POST', body }))
      },
    })
  }

  #show({ name, use, accessKey, secret }: NewKeyView): void {
    const lines =
      use === 'Inference'
        ? [element('code', { 'data-testid': 'secret' }, secret)]
        : [
            'Access key ',
            element('code', {}, accessKey),
            ', secret key ',
            element('code', { 'data-testid': 'secret' }, secret),
          ]
    this.#made.replaceChildren(
      element(
        'div',
        { class: 'tile new-key' },
        element('p', {}, element('strong', {}, name), ' is made. Copy it now: it is not shown again.'),
        element('p', {}, ...lines),
      ),
    )
  }
}

function stateOf({ disabled, expiresAt }: KeyView, now: number): string {
  if (disabled) return 'disabled'
  if (expiresAt === undefined) return 'valid'
  return Date.parse(expiresAt) <= now ? 'expired' : `valid until ${expiresAt.slice(0, 10)}`
}
