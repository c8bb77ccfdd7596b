export interface Call {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'GET'
  readonly path: string
  readonly type?: string
  readonly body?: string | Buffer
  readonly user?: 'ada' | 'root'
  readonly accept?: string
}

/** A body that is made to cost as much as it can. `share`: of the largest that the server takes. */
export interface HostileInput {
  readonly name: string
  /** Of the largest body, how much is tried; half of it, too. */
  readonly share?: number
  /** What is there already. */
  readonly before?: (share: number) => readonly Call[]
  readonly attack: (share: number) => Call
  /** Part of the answer, where the cost is in making it. */
  readonly answer?: string
}

export const core = '/api/v1/namespaces/team'
export const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/team'
export const apply = 'application/apply-patch+yaml'

/** A list of as many items as the share says. */
export function many<T>(most: number, share: number, item: (index: number) => T): T[] {
  return Array.from({ length: Math.ceil(most * share) }, (_none, index) => item(index))
}

export function entries(most: number, share: number, key: (index: number) => string, value: unknown) {
  return Object.fromEntries(many(most, share, (index) => [key(index), value]))
}

/** An object to create, called `hostile` unless it says otherwise. */
export interface Content {
  readonly metadata?: object
  readonly [field: string]: unknown
}

export function post(path: string, content: Content, user: Call['user'] = 'ada'): Call {
  const metadata = { name: 'hostile', ...content.metadata }
  return { method: 'POST', path, body: JSON.stringify({ ...content, metadata }), user }
}
