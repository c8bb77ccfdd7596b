import { StatusError } from '../../resources/status-error.ts'

/** The form in which the client wants objects. */
export type Representation = 'object' | 'table' | 'partial'

interface MediaRange {
  readonly type: string
  readonly parameters: ReadonlyMap<string, string>
}

const mostRanges = 32

const chosen = new Map<string, Representation>()
const mostChosen = 256

/**
 * The first media type in the client's order that can be served; otherwise 406, which names those that can. Remembers
 * its answers, because all clients together send only a few different headers.
 */
export function chooseRepresentation(accept = ''): Representation {
  let representation = chosen.get(accept)
  if (representation === undefined) {
    representation = readRepresentation(accept)
    if (chosen.size >= mostChosen) chosen.clear()
    chosen.set(accept, representation)
  }
  return representation
}

function readRepresentation(accept: string): Representation {
  for (const range of rangesOf(accept)) {
    if (!isJson(range.type)) continue
    const as = range.parameters.get('as')
    if (as === undefined || as === '') return 'object'
    if (range.parameters.get('g') !== 'meta.k8s.io' || range.parameters.get('v') !== 'v1') continue
    if (as === 'Table') return 'table'
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return 'partial'
  }
  const available = 'application/json, application/json;stream=watch, application/json;as=Table;v=v1;g=meta.k8s.io'
  throw new StatusError('NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${available}`)
}

/** The offered type that the client prefers, or the first if it takes any; otherwise 406, which names them all. */
export function chooseMediaType(accept: string | undefined, offered: readonly string[]): string {
  const liked = rangesOf(accept).toSorted((one, other) => weightOf(other) - weightOf(one))
  for (const { type } of liked) {
    const found = offered.find((candidate) => type === candidate || isWildcardFor(type, candidate))
    if (found !== undefined) return found
  }
  throw new StatusError('NotAcceptable', `only the following media types are accepted: ${offered.join(', ')}`)
}

/** Whether the client accepts discovery of everything in one answer. */
export function wantsAggregatedDiscovery(accept: string | undefined): boolean {
  for (const range of rangesOf(accept)) {
    if (!isJson(range.type)) continue
    const as = range.parameters.get('as')
    if (as === undefined) return false
    if (as === 'APIGroupDiscoveryList' && range.parameters.get('v') === 'v2') return true
  }
  return false
}

function isWildcardFor(range: string, type: string): boolean {
  return range === '*/*' || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)))
}

/** The preference `q`, from 0 to 1. */
function weightOf({ parameters }: MediaRange): number {
  const weight = Number(parameters.get('q') ?? 1)
  return weight >= 0 && weight <= 1 ? weight : 1
}

function isJson(type: string): boolean {
  return type === 'application/json' || type === 'application/*' || type === '*/*'
}

function rangesOf(accept: string | undefined): MediaRange[] {
  const text = accept === undefined || accept.trim() === '' ? '*/*' : accept
  return text
    .split(',')
    .slice(0, mostRanges)
    .map((part) => {
      const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim())
      const pairs = parameters.map((parameter): [string, string] => {
        const equals = parameter.indexOf('=')
        return equals < 0 ? [parameter, ''] : [parameter.slice(0, equals), parameter.slice(equals + 1)]
      })
      return { type: type.toLowerCase(), parameters: new Map(pairs) }
    })
}
