import type { HistoryView, SessionView } from '../../../src/management/console/console-shapes.ts'
import { element, icon } from '../../src/view/element.ts'
import type { ConsoleApi } from './api/console-api.ts'
import { Refusal } from './api/refusal.ts'
import { ConsoleState } from './state/console-state.ts'
import { LiveConnection } from './state/live-connection.ts'
import { pages, panelOf, titleOf } from './pages.ts'
import { loginView } from './view/login-view.ts'
import type { Panel } from './view/panel.ts'

/** How often times such as "5 min ago" are looked at again. */
const tickMs = 500
const retryMs = 3_000

/** The whole page: the login, or the frame with one panel in it. */
export class ConsoleApp {
  readonly #root: HTMLElement
  readonly #api: ConsoleApi
  #state = new ConsoleState()
  #session: SessionView | undefined
  #live: LiveConnection | undefined
  #panel: Panel | undefined
  #main = element('main', { id: 'main', tabindex: '-1' })
  #status = element('span', { class: 'live', role: 'status' }, 'connecting…')
  #drawing = false

  constructor(root: HTMLElement, api: ConsoleApi) {
    this.#root = root
    this.#api = api
    api.onLoggedOut = () => this.#showLogin()
    window.addEventListener('hashchange', () => {
      this.#showPanel()
      // What a link leads to begins at its top, and the keyboard goes on from there.
      window.scrollTo(0, 0)
      this.#main.focus({ preventScroll: true })
    })
    setInterval(() => this.#draw(), tickMs)
  }

  async start(): Promise<void> {
    try {
      await this.#open(await this.#api.ask<SessionView>('session'))
    } catch (error) {
      if (error instanceof Refusal && error.status === 0) {
        this.#root.replaceChildren(element('main', { class: 'login-page' }, element('p', {}, error.message)))
        setTimeout(() => void this.start(), retryMs)
        return
      }
      this.#showLogin()
    }
  }

  #showLogin(): void {
    this.#close()
    document.title = 'Sluice console'
    this.#root.replaceChildren(loginView(this.#api, (session) => void this.#open(session)))
    this.#root.querySelector('input')?.focus()
  }

  async #open(session: SessionView): Promise<void> {
    this.#session = session
    this.#state = new ConsoleState()
    this.#root.replaceChildren(this.#frame(session))
    this.#showPanel()
    this.#live = new LiveConnection(this.#api.liveUrl, {
      onChange: (change, isWhole) => {
        this.#state.apply(change, isWhole)
        this.#scheduleDraw()
      },
      onConnected: (connected) => {
        this.#status.textContent = connected ? 'live' : 'connecting…'
        this.#status.classList.toggle('is-live', connected)
      },
      // Whether that is because of the session is told by asking for it.
      onRefused: () => setTimeout(() => void this.start(), retryMs),
    })
    const history = await this.#api.ask<HistoryView>('history')
    this.#state.setHistory(history)
    this.#scheduleDraw()
  }

  #close(): void {
    this.#live?.close()
    this.#live = undefined
    this.#panel?.close?.()
    this.#panel = undefined
    this.#session = undefined
  }

  #frame({ cluster, key, readOnly }: SessionView): HTMLElement {
    const logOut = element('button', { class: 'link-button', type: 'button' }, 'Log out')
    logOut.addEventListener('click', () => {
      void this.#api.ask('session', { method: 'DELETE' }).finally(() => this.#showLogin())
    })
    const links = pages.map(({ hash, title }) => element('a', { href: hash }, title))
    const skip = element('a', { class: 'skip', href: '#main' }, 'Skip to the content')
    skip.addEventListener('click', (event) => {
      event.preventDefault()
      this.#main.focus()
    })
    const note =
      readOnly === undefined ? [] : [element('p', { class: 'read-only' }, `You can only look here: ${readOnly}.`)]
    return element(
      'div',
      { class: 'frame' },
      skip,
      element(
        'header',
        { class: 'top' },
        element('h1', { class: 'brand' }, icon('sluice'), element('span', {}, cluster.name)),
        element('nav', { 'aria-label': 'Pages' }, ...links),
        element(
          'div',
          { class: 'who' },
          this.#status,
          element('span', { class: 'faint', title: 'Access key' }, key),
          logOut,
        ),
      ),
      ...note,
      this.#main,
    )
  }

  #showPanel(): void {
    if (!this.#session) return
    this.#panel?.close?.()
    this.#panel = panelOf(location.hash, this.#api, this.#session)
    this.#main.replaceChildren(this.#panel.element)
    document.title = titleOf(location.hash)
    for (const link of this.#root.querySelectorAll('nav a')) {
      const isCurrent =
        location.hash.startsWith(link.getAttribute('href') ?? '') ||
        (location.hash === '' && link.getAttribute('href') === pages[0]?.hash)
      if (isCurrent) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
    this.#draw()
  }

  /** Many changes in one frame are drawn once. */
  #scheduleDraw(): void {
    if (this.#drawing) return
    this.#drawing = true
    requestAnimationFrame(() => {
      this.#drawing = false
      this.#draw()
    })
  }

  #draw(): void {
    this.#panel?.update(this.#state, Date.now())
  }
}
