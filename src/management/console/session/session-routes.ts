import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { type Answer, success } from '../../envelope.ts'
import type { KeyHolder } from '../../key-ring.ts'
import type { SessionView } from '../console-shapes.ts'
import type { ConsoleRoute } from '../console-routes.ts'
import type { ConsoleWorld } from '../console-world.ts'
import { jsonBody } from '../request-body.ts'
import type { ConsoleAccess } from './console-access.ts'
import { isSecure, sessionCookie } from './session-cookie.ts'

const keyText = z.string().min(1, 'must not be empty').max(256, 'is too long to be a key')
const loginBody = z.object({ accessKey: keyText, secretKey: keyText })

export interface SessionRoutesOptions {
  readonly access: ConsoleAccess
  readonly world: ConsoleWorld
  readonly now: () => number
}

/** Logging in and out, and who one is. */
export class SessionRoutes {
  readonly #options: SessionRoutesOptions
  readonly routes: readonly ConsoleRoute[]

  constructor(options: SessionRoutesOptions) {
    this.#options = options
    this.routes = [{ method: 'GET', pattern: 'session', run: ({ user }) => this.#view(user, user.session?.endsAt) }]
  }

  async logIn(request: IncomingMessage): Promise<Answer> {
    const { access, now } = this.#options
    const pair = await jsonBody(request, loginBody)
    const { holder, token, endsAt } = access.logIn(pair, request.socket.remoteAddress ?? '')
    const maxAgeSeconds = Math.floor((endsAt - now()) / 1000)
    return withCookie(success(this.#view(holder, endsAt)), token, maxAgeSeconds, request)
  }

  logOut(request: IncomingMessage): Answer {
    this.#options.access.logOut(request)
    return withCookie(success({}), 'none', 0, request)
  }

  #view({ name, enterprise }: KeyHolder, endsAt: number | undefined): SessionView {
    const { world } = this.#options
    const cluster = world.caches.clusters.get({ name: world.clusterId })
    return {
      key: name,
      enterprise,
      endsAt,
      cluster: { id: world.clusterId, name: cluster?.spec.displayName ?? world.clusterId },
      readOnly: world.readOnly,
      hasTraffic: world.traffic !== undefined,
      mayFetch: world.pulls !== undefined,
      mayUpload: world.uploads !== undefined,
    }
  }
}

function withCookie(answer: Answer, token: string, maxAgeSeconds: number, { headers }: IncomingMessage): Answer {
  const cookie = sessionCookie(token, { maxAgeSeconds, secure: isSecure(headers) })
  return { ...answer, headers: { ...answer.headers, 'set-cookie': cookie } }
}
