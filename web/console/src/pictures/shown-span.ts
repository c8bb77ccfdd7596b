/** How far back a picture goes. */
export interface ShownSpan {
  /** How many samples fill it. */
  readonly places: number
  /** When it begins. */
  readonly words: string
}

const tenMinutes: ShownSpan = { places: 60, words: '10 min ago' }
const halfAnHour: ShownSpan = { places: 180, words: '30 min ago' }
const hour: ShownSpan = { places: 360, words: 'an hour ago' }

/** The shortest that shows all samples: shortly after a start, an hour would be almost empty. */
export function shownSpan(samples: number): ShownSpan {
  return [tenMinutes, halfAnHour].find(({ places }) => samples <= places) ?? hour
}
