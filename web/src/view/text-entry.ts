const MAX_HEIGHT_PX = 220

/** Lets a text area grow with what is written in it. */
export function fitHeight(text: HTMLTextAreaElement): void {
  text.style.height = 'auto'
  text.style.height = `${Math.min(text.scrollHeight, MAX_HEIGHT_PX)}px`
}

/** Enter sends and Shift+Enter does not. While an input method is composing a character, Enter belongs to it. */
export function isSendingKey(event: KeyboardEvent): boolean {
  return event.key === 'Enter' && !event.shiftKey && !event.isComposing
}
