import { element } from '../../../src/view/element.ts'

export interface Question {
  readonly title: string
  readonly text: string
  /** What the button says that does it. */
  readonly act: string
  /** Asked for besides. */
  readonly field?: HTMLElement | undefined
  /** Does it. Its error is shown, and the question stays. */
  readonly run: () => Promise<unknown>
}

/** Asks before anything is changed. Escape and "Cancel" change nothing. */
export function ask({ title, text, act, field, run }: Question): void {
  const failure = element('p', { class: 'dialog-failure', role: 'alert', hidden: true })
  const cancel = element('button', { class: 'button', type: 'button' }, 'Cancel')
  const confirm = element('button', { class: 'button primary', type: 'submit', 'data-testid': 'confirm' }, act)
  const form = element(
    'form',
    {},
    element('h2', { id: 'dialog-title' }, title),
    element('p', {}, text),
    ...(field ? [field] : []),
    failure,
    element('div', { class: 'dialog-actions' }, cancel, confirm),
  )
  const dialog = element('dialog', { class: 'dialog', 'aria-labelledby': 'dialog-title' }, form)
  cancel.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    confirm.disabled = true
    failure.hidden = true
    run()
      .then(() => dialog.close())
      .catch((error: unknown) => {
        failure.textContent = error instanceof Error ? error.message : String(error)
        failure.hidden = false
      })
      .finally(() => {
        confirm.disabled = false
      })
  })
  document.body.append(dialog)
  dialog.showModal()
}
