import { element, icon } from './element.ts'

const CONFIRM_MS = 1_500

export function copyButton(label: string, text: () => string): HTMLButtonElement {
  const button = element(
    'button',
    { type: 'button', class: 'quiet-button', 'aria-label': label, title: label },
    icon('copy'),
  )
  let reset: ReturnType<typeof setTimeout> | undefined
  button.addEventListener('click', () => {
    void copy(text()).then((copied) => {
      button.replaceChildren(icon(copied ? 'check' : 'copy'))
      button.setAttribute('aria-label', copied ? 'Copied' : 'Copying was refused by the browser')
      clearTimeout(reset)
      reset = setTimeout(() => {
        button.replaceChildren(icon('copy'))
        button.setAttribute('aria-label', label)
      }, CONFIRM_MS)
    })
  })
  return button
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    // The clipboard API does not exist over plain http from another machine; the old way still works there.
    return copyBySelection(text)
  }
}

function copyBySelection(text: string): boolean {
  const before = document.activeElement
  const area = element('textarea', { class: 'visually-hidden', 'aria-hidden': 'true' })
  area.value = text
  document.body.append(area)
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  if (before instanceof HTMLElement) before.focus()
  return copied
}
