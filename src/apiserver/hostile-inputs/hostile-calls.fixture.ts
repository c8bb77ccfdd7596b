export interface Call {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'GET'
  readonly path: string
  readonly type?: string
  readonly body?: string | Buffer
  readonly user?: 'ada' | 'root'
  readonly accept?: string
}

/** A body that is made to cost as much as possible. */
export interface HostileInput {
  readonly name: string
  /** How much of the largest body the server takes is tried; half of it is tried as well. */
  readonly share?: number
  /** Calls that prepare the cluster. */
  readonly before?: (share: number) => readonly Call[]
  readonly attack: (share: number) => Call
  /** Part of the expected answer, where the cost is in making the answer. */
  readonly answer?: string
}

export const core = '/api/v1/namespaces/team'
export const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/team'
export const apply = 'application/apply-patch+yaml'

/** A list with this share of the most items. */
export function many<T>(most: number, share: number, item: (index: number) => T): T[] {
  return Array.from({ length: Math.ceil(most * share) }, (_none, index) => item(index))
}

export function entries(most: number, share: number, key: (index: number) => string, value: unknown) {
  return Object.fromEntries(many(most, share, (index) => [key(index), value]))
}

/** An object to create, named `hostile` unless it says otherwise. */
export interface Content {
  readonly metadata?: object
  readonly [field: string]: unknown
}

export function post(path: string, content: Content, user: Call['user'] = 'ada'): Call {
  const metadata = { name: 'hostile', ...content.metadata }
  return { method: 'POST', path, body: JSON.stringify({ ...content, metadata }), user }
}
