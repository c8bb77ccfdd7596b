import { modelSentence } from '../conversation/answer-text.ts'
import { phaseOf, type ModelEntry, type ModelPhase } from '../protocol/model-list.ts'
import type { ModelDirectory } from '../session/model-watch.ts'
import { MarkdownView } from '../markdown/markdown-view.ts'
import { element, icon, part } from './element.ts'
import { unreachable } from '../unreachable.ts'

const EXAMPLES = [
  'What is the capital of France?',
  'Explain in two sentences what a sluice gate does.',
  'Write a short poem about a river at night.',
]

const MANIFEST = `\`\`\`sh
kubectl apply -f - <<'EOF'
apiVersion: sluice.dev/v1
kind: Model
metadata:
  name: my-model
  namespace: sluice
spec:
  url: pvc://userdata/my-model
  engine: LlamaCpp
  resourceProfile: default:1
  minReplicas: 0
  maxReplicas: 1
EOF
\`\`\``

/** The content of an empty chat: what will happen, and examples to try. */
export class WelcomeView {
  readonly #root = part('welcome', HTMLElement)
  readonly #ask: (text: string) => void
  #drawn = ''

  constructor(ask: (text: string) => void) {
    this.#ask = ask
  }

  update(visible: boolean, directory: ModelDirectory, picked: ModelEntry | undefined, hasKey: boolean): void {
    this.#root.hidden = !visible
    if (!visible) return
    const key = JSON.stringify([directory.status, picked, hasKey])
    if (key === this.#drawn) return
    this.#drawn = key
    // Drawing again must not take the focus from a keyboard user in the list of examples.
    const focused = [...this.#root.querySelectorAll('button')].findIndex((button) => button === document.activeElement)
    this.#root.replaceChildren(...this.#draw(directory, picked, hasKey))
    if (focused !== -1) this.#root.querySelectorAll('button')[focused]?.focus()
  }

  #draw(directory: ModelDirectory, picked: ModelEntry | undefined, hasKey: boolean): HTMLElement[] {
    if (picked !== undefined) return this.#drawModel(picked)
    const { status } = directory
    switch (status) {
      case 'loading':
        return []
      case 'unreachable':
        return [
          element('h1', {}, 'The gateway does not answer'),
          element('p', { class: 'lead' }, 'This page asks again by itself. Is Sluice still running?'),
        ]
      case 'locked':
        return drawLocked(hasKey)
      case 'listed':
        if (directory.models.length > 0) return drawNoChatModel()
        return hasKey ? drawNoModelForKey() : drawNoModel()
      default:
        return unreachable(status)
    }
  }

  #drawModel(model: ModelEntry): HTMLElement[] {
    const examples = EXAMPLES.map((text) => {
      const button = element('button', { type: 'button', class: 'example' }, text)
      button.addEventListener('click', () => this.#ask(text))
      return element('li', {}, button)
    })
    const mark = element(
      'span',
      { class: 'welcome-mark', 'data-phase': phaseOf(model) },
      icon(isResting(phaseOf(model)) ? 'moon' : 'sluice'),
    )
    return [
      mark,
      element('h1', {}, `Ask ${model.id}`),
      element('p', { class: 'lead' }, modelSentence(model)),
      element('ul', { class: 'examples', 'aria-label': 'Examples' }, ...examples),
    ]
  }
}

function isResting(phase: ModelPhase): boolean {
  return phase === 'Asleep' || phase === 'Draining'
}

function drawLocked(hasKey: boolean): HTMLElement[] {
  return [
    element('span', { class: 'welcome-mark' }, icon('key')),
    element('h1', {}, hasKey ? 'This API key is not accepted' : 'This gateway asks for an API key'),
    element('p', { class: 'lead' }, 'Whoever runs it can give you one. It is sent to nobody but this gateway.'),
  ]
}

function drawNoChatModel(): HTMLElement[] {
  return [
    element('h1', {}, 'No model to chat with'),
    element('p', { class: 'lead' }, 'The models that there are do something else: embeddings, ranking or speech.'),
  ]
}

function drawNoModelForKey(): HTMLElement[] {
  return [
    element('span', { class: 'welcome-mark' }, icon('key')),
    element('h1', {}, 'No model for this API key'),
    element(
      'p',
      { class: 'lead' },
      'There is none yet, or the key allows none of those there are. The settings change the key.',
    ),
  ]
}

function drawNoModel(): HTMLElement[] {
  const manifest = new MarkdownView()
  manifest.update(MANIFEST, true)
  return [
    element('h1', {}, 'No model yet'),
    element(
      'p',
      { class: 'lead' },
      'Put a model’s files into the userdata claim, describe it, and apply it. It appears here by itself, asleep, and costs nothing until somebody writes.',
    ),
    manifest.element,
  ]
}
