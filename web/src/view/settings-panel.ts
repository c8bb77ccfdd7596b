import { MAX_SYSTEM_PROMPT_CHARACTERS, type Settings } from '../session/settings.ts'
import { part } from './element.ts'

type ChatSettings = Pick<Settings, 'systemPrompt' | 'temperature'>

/** The position of the slider while the model's own temperature is used. */
const RESTING_TEMPERATURE = 0.7

export function connectSettings(initial: ChatSettings, changed: (settings: ChatSettings) => void): void {
  const prompt = part('system-prompt', HTMLTextAreaElement)
  const slider = part('temperature', HTMLInputElement)
  const value = part('temperature-value', HTMLOutputElement)
  const reset = part('temperature-reset', HTMLButtonElement)
  const toggle = part('settings-toggle', HTMLButtonElement)
  let { temperature } = initial

  const show = () => {
    slider.valueAsNumber = temperature ?? RESTING_TEMPERATURE
    slider.classList.toggle('unset', temperature === null)
    value.textContent = temperature === null ? 'the model’s own' : temperature.toFixed(1)
    reset.hidden = temperature === null
    toggle.classList.toggle('changed', temperature !== null || prompt.value.trim() !== '')
  }
  const tell = () => {
    changed({ systemPrompt: prompt.value, temperature })
    show()
  }
  prompt.value = initial.systemPrompt
  prompt.maxLength = MAX_SYSTEM_PROMPT_CHARACTERS
  prompt.addEventListener('input', tell)
  slider.addEventListener('input', () => {
    temperature = slider.valueAsNumber
    tell()
  })
  reset.addEventListener('click', () => {
    temperature = null
    tell()
    slider.focus()
  })
  show()
}
