/** What somebody who imports a Model should know about it. */
export interface ImportNote {
  /** The Model's name, or what else was found in its place. */
  readonly about: string
  /** The field of KubeAI's Model; undefined when it is about the whole Model. */
  readonly field?: string | undefined
  /** What was skipped is no Model of KubeAI. */
  readonly fate: 'changed' | 'left out' | 'skipped'
  readonly reason: string
}

/** Takes notes about one Model. */
export class NoteTaker {
  readonly notes: ImportNote[] = []
  readonly #about: string

  constructor(about: string) {
    this.#about = about
  }

  changed(field: string, reason: string): void {
    this.notes.push({ about: this.#about, field, fate: 'changed', reason })
  }

  leftOut(field: string, reason: string): void {
    this.notes.push({ about: this.#about, field, fate: 'left out', reason })
  }
}

/** `llama: spec.env left out: …` */
export function noteLine({ about, field, fate, reason }: ImportNote): string {
  return `${about}: ${field === undefined ? '' : `${field} `}${fate}: ${reason}`
}
