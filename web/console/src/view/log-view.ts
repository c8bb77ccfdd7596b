import type { PodView } from '../../../../src/management/console/console-shapes.ts'
import { element } from '../../../src/view/element.ts'
import type { ConsoleApi } from '../api/console-api.ts'

/** More is cut off at the top: a browser gets slow with a text that grows for ever. */
const mostCharacters = 400_000

/** The log of a Pod as it is written. */
export class LogView {
  readonly element: HTMLElement
  readonly #api: ConsoleApi
  readonly #pod: PodView
  readonly #text = element('pre', { class: 'log', tabindex: '0', 'aria-label': 'Log', 'data-testid': 'log' })
  readonly #note = element('p', { class: 'faint', role: 'status' })
  #stop = new AbortController()

  constructor(api: ConsoleApi, pod: PodView) {
    this.#api = api
    this.#pod = pod
    const select = element('select', { id: 'container' }, ...pod.containers.map((name) => element('option', {}, name)))
    // Init containers come first in the list; what one wants to read is the last, which does the work.
    select.value = pod.containers.at(-1) ?? ''
    select.addEventListener('change', () => this.#follow(select.value))
    const choice = element('p', { class: 'log-choice' }, element('label', { for: 'container' }, 'Container'), select)
    choice.hidden = pod.containers.length < 2
    this.element = element('div', {}, choice, this.#text, this.#note)
    this.#follow(select.value)
  }

  close(): void {
    this.#stop.abort()
  }

  #follow(container: string): void {
    this.#stop.abort()
    this.#stop = new AbortController()
    this.#text.textContent = ''
    this.#note.textContent = 'Following the log…'
    void this.#read(container, this.#stop.signal)
  }

  async #read(container: string, signal: AbortSignal): Promise<void> {
    const { namespace, name } = this.#pod
    const path = `pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/log?container=${encodeURIComponent(container)}`
    try {
      for await (const text of this.#api.follow(path, signal)) this.#append(text)
      this.#note.textContent = 'The log has ended.'
    } catch (error) {
      if (!signal.aborted) this.#note.textContent = error instanceof Error ? error.message : String(error)
    }
  }

  #append(text: string): void {
    const { scrollTop, clientHeight, scrollHeight } = this.#text
    const wasAtEnd = scrollHeight - scrollTop - clientHeight < 40
    this.#text.append(text)
    while ((this.#text.textContent?.length ?? 0) > mostCharacters && this.#text.firstChild)
      this.#text.firstChild.remove()
    if (wasAtEnd) this.#text.scrollTop = this.#text.scrollHeight
  }
}
