import { ACCEPTED_TYPES, MAX_IMAGES, type AttachedImage } from '../attachments/attached-image.ts'
import { NotAttachable, readImage } from '../attachments/read-image.ts'
import { element, icon, part } from './element.ts'

/** The pictures that go with the next question: picked, pasted or dropped. */
export class AttachmentTray {
  readonly #button = part('attach', HTMLButtonElement)
  readonly #input = part('attach-input', HTMLInputElement)
  readonly #list = part('attachments', HTMLElement)
  readonly #problem = part('composer-problem', HTMLElement)
  readonly #changed: () => void
  #images: readonly AttachedImage[] = []
  #canSee = false

  /** `zone`: where pictures can be dropped and pasted. */
  constructor(zone: HTMLElement, changed: () => void) {
    this.#changed = changed
    this.#input.accept = ACCEPTED_TYPES.join(',')
    this.#button.addEventListener('click', () => this.#input.click())
    this.#input.addEventListener('change', () => {
      this.#take([...(this.#input.files ?? [])])
      this.#input.value = ''
    })
    zone.addEventListener('paste', (event) => this.#offered(event, event.clipboardData))
    zone.addEventListener('drop', (event) => this.#offered(event, event.dataTransfer))
    zone.addEventListener('dragover', (event) => {
      if (this.#canSee && event.dataTransfer?.types.includes('Files')) event.preventDefault()
    })
  }

  get images(): readonly AttachedImage[] {
    return this.#images
  }

  /** Whether what is attached keeps the question from being sent. */
  get isRefused(): boolean {
    return this.#images.length > 0 && !this.#canSee
  }

  update(canSee: boolean, model: string): void {
    const wasRefused = this.isRefused
    this.#canSee = canSee
    this.#button.hidden = !canSee
    if (this.isRefused && !wasRefused) this.#say(`${model} does not see pictures. Pick another model, or remove them.`)
    if (!this.isRefused && wasRefused) this.#say('')
  }

  clear(): void {
    this.#show([])
    this.#say('')
  }

  #offered(event: Event, data: DataTransfer | null): void {
    const files = [...(data?.files ?? [])]
    if (!this.#canSee || files.length === 0) return
    event.preventDefault()
    this.#take(files)
  }

  #take(files: readonly File[]): void {
    void this.#read(files).catch((error: unknown) => {
      this.#say(error instanceof NotAttachable ? error.message : 'The picture could not be read.')
    })
  }

  async #read(files: readonly File[]): Promise<void> {
    this.#say('')
    // One after the other: a picture of a camera takes a hundred megabytes while it is scaled.
    for (const file of files) {
      if (this.#images.length >= MAX_IMAGES)
        throw new NotAttachable(`At most ${MAX_IMAGES} pictures go with a message.`)
      const image = await readImage(file)
      this.#show([...this.#images, image])
    }
  }

  #show(images: readonly AttachedImage[]): void {
    this.#images = images
    this.#list.hidden = images.length === 0
    this.#list.replaceChildren(...images.map((image) => this.#draw(image)))
    this.#changed()
  }

  #draw(image: AttachedImage): HTMLElement {
    const label = `Remove ${image.name}`
    const remove = element(
      'button',
      { type: 'button', class: 'remove', 'aria-label': label, title: label },
      icon('cross'),
    )
    remove.addEventListener('click', () => {
      this.#show(this.#images.filter((one) => one !== image))
      this.#button.focus()
    })
    return element('li', {}, element('img', { src: image.url, alt: image.name }), remove)
  }

  #say(problem: string): void {
    this.#problem.textContent = problem
  }
}
