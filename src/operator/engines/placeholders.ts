/** What the words in braces of an engine's image, command, arguments and variables stand for. */
export interface PlaceholderValues {
  /** Where the Model's files are inside the container. */
  readonly modelPath: string
  /** The Model's name, which requests say. */
  readonly modelName: string
  /** The address to listen at: that of the Pod. */
  readonly host: string
  readonly port: string
  /** The cards that the Pod has. */
  readonly cards: string
  /** The registry of the compute center. */
  readonly registry: string
  /** The version of this program, which is the tag of its own images. */
  readonly version: string
}

export const placeholders: readonly (keyof PlaceholderValues)[] = [
  'modelPath',
  'modelName',
  'host',
  'port',
  'cards',
  'registry',
  'version',
]

/** What the words stand for that only a member of a serving group has. */
export interface GroupPlaceholderValues {
  /** 0 is the leader. */
  readonly groupRank: string
  readonly groupSize: string
  /** The name at which the members find the leader. */
  readonly groupLeader: string
}

export const groupPlaceholders: readonly (keyof GroupPlaceholderValues)[] = ['groupRank', 'groupSize', 'groupLeader']

/** What is written for each adapter of a Model. */
export const adapterPlaceholders: readonly string[] = ['adapterName', 'adapterPath']

/** Only a single word in braces: JSON in an argument stays as it is. */
const inBraces = /\{([A-Za-z]+)\}/g

export function fillIn(template: string, values: PlaceholderValues & Partial<GroupPlaceholderValues>): string {
  const known = new Map<string, string>(Object.entries(values))
  return template.replace(inBraces, (written, word: string) => known.get(word) ?? written)
}

/** The first word in braces that is none of these. */
export function unknownPlaceholder(template: string, known: readonly string[]): string | undefined {
  for (const [, word = ''] of template.matchAll(inBraces)) if (!known.includes(word)) return word
  return undefined
}

/** A value must stay what it is, even if it looks like a reference to a variable, which Kubernetes would expand. */
export function withoutVariables(value: string): string {
  return value.replaceAll('$(', '$$$$(')
}
