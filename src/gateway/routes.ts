/** Everything the gateway answers; any other path does not exist. */
export type Route =
  | { readonly kind: 'models' }
  | { readonly kind: 'model'; readonly id: string }
  | InferenceRoute
  | { readonly kind: 'pass-through'; readonly name: string; readonly upstreamPath: string }
  | { readonly kind: 'health' }
  | { readonly kind: 'readiness' }
  | { readonly kind: 'metrics' }

export interface InferenceRoute {
  readonly kind: 'inference'
  readonly name: string
  /** The path at the model's server. */
  readonly upstreamPath: string
  readonly body: 'json' | 'form'
}

export type RouteMatch =
  | { readonly found: 'route'; readonly route: Route; readonly methods: readonly string[] | 'any' }
  | { readonly found: 'method-refused'; readonly methods: readonly string[] }
  | { readonly found: 'nothing' }

type Row = Extract<RouteMatch, { found: 'route' }> & { readonly methods: readonly string[] }

const reading = ['GET', 'HEAD']
/**
 * What clients of OpenAI send, and in which form; rerank is not OpenAI's, but what vLLM, TEI and Cohere's clients have.
 */
const inferenceForms: Readonly<Record<string, InferenceRoute['body']>> = {
  'chat/completions': 'json',
  completions: 'json',
  responses: 'json',
  embeddings: 'json',
  rerank: 'json',
  'audio/speech': 'json',
  'audio/transcriptions': 'form',
  'audio/translations': 'form',
  'images/generations': 'json',
  'images/edits': 'form',
  'images/variations': 'form',
}

/** The prefixes of the OpenAI API: /openai/v1, and /v1 for clients that expect it there. */
const openAiPrefixes = ['/openai/v1', '/v1'] as const

/** Routes for any method and any path below their prefix, which is replaced for the model's server. */
const passThroughs = [
  { name: 'api', prefix: '/openai/api/v1/', upstreamPrefix: '/api/v1/' },
  { name: 'gradio_api', prefix: '/openai/gradio_api/v1/', upstreamPrefix: '/gradio_api/v1/' },
] as const

const exactRows: ReadonlyMap<string, Row> = new Map<string, Row>([
  ...openAiPrefixes.flatMap((prefix): Array<[string, Row]> => [
    [`${prefix}/models`, { found: 'route', methods: reading, route: { kind: 'models' } }],
    ...Object.entries(inferenceForms).map(([name, body]): [string, Row] => [
      `${prefix}/${name}`,
      { found: 'route', methods: ['POST'], route: { kind: 'inference', name, upstreamPath: `/v1/${name}`, body } },
    ]),
  ]),
  ['/healthz', { found: 'route', methods: reading, route: { kind: 'health' } }],
  ['/readyz', { found: 'route', methods: reading, route: { kind: 'readiness' } }],
  ['/metrics', { found: 'route', methods: reading, route: { kind: 'metrics' } }],
])

export function matchRoute(method: string, path: string): RouteMatch {
  const row = exactRows.get(path) ?? modelRow(path)
  if (row) return row.methods.includes(method) ? row : { found: 'method-refused', methods: row.methods }
  const passThrough = passThroughs.find(({ prefix }) => path.startsWith(prefix))
  if (!passThrough || leavesItsPrefix(path)) return { found: 'nothing' }
  const upstreamPath = passThrough.upstreamPrefix + path.slice(passThrough.prefix.length)
  return { found: 'route', route: { kind: 'pass-through', name: passThrough.name, upstreamPath }, methods: 'any' }
}

function modelRow(path: string): Row | undefined {
  for (const prefix of openAiPrefixes) {
    if (!path.startsWith(`${prefix}/models/`)) continue
    const id = decoded(path.slice(prefix.length + '/models/'.length))
    if (id) return { found: 'route', methods: reading, route: { kind: 'model', id } }
  }
  return undefined
}

/** Decodes a model id: some have slashes, which some clients escape. */
function decoded(id: string): string | undefined {
  try {
    return decodeURIComponent(id)
  } catch {
    return undefined
  }
}

/**
 * Whether the path has dot segments, encoded or not: a server that resolves them would serve paths outside this table.
 */
function leavesItsPrefix(path: string): boolean {
  return /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){1,2}(?:$|[/\\;]|%2f|%5c|%3b)/i.test(path)
}
