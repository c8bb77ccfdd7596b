import type { SessionView } from '../../../../src/management/console/console-shapes.ts'
import { element, icon } from '../../../src/view/element.ts'
import type { ConsoleApi } from '../api/console-api.ts'

/** The form that asks for a key pair. The secret is sent once, and kept nowhere in the browser. */
export function loginView(api: ConsoleApi, onLoggedIn: (session: SessionView) => void): HTMLElement {
  const accessKey = element('input', {
    id: 'access-key',
    name: 'username',
    autocomplete: 'username',
    required: true,
    spellcheck: 'false',
  })
  const secretKey = element('input', {
    id: 'secret-key',
    name: 'password',
    type: 'password',
    autocomplete: 'current-password',
    required: true,
  })
  const message = element('p', { class: 'login-message', role: 'alert', hidden: true })
  const button = element('button', { class: 'button primary', type: 'submit' }, 'Open the console')
  const form = element(
    'form',
    { class: 'login', 'aria-label': 'Log in' },
    element('div', { class: 'brand' }, icon('sluice'), element('h1', {}, 'Sluice')),
    element(
      'p',
      { class: 'hint' },
      'Enter a key pair of the management API. Yours is in ',
      code('credentials.json'),
      ' in the data directory.',
    ),
    message,
    element('label', { for: 'access-key' }, 'Access key'),
    accessKey,
    element('label', { for: 'secret-key' }, 'Secret key'),
    secretKey,
    button,
  )
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    button.disabled = true
    message.hidden = true
    const body = { accessKey: accessKey.value.trim(), secretKey: secretKey.value.trim() }
    api
      .ask<SessionView>('session', { method: 'POST', body })
      .then(onLoggedIn)
      .catch((error: unknown) => {
        message.textContent = error instanceof Error ? error.message : String(error)
        message.hidden = false
        secretKey.value = ''
        secretKey.focus()
      })
      .finally(() => {
        button.disabled = false
      })
  })
  return element('main', { class: 'login-page' }, form)
}

function code(text: string): HTMLElement {
  return element('code', {}, text)
}
