import type { IncomingMessage } from 'node:http'
import { SluiceError } from '../../../foundation/errors.ts'
import type { KeyHolder, KeyProof, ProvenKey } from '../../key-ring.ts'
import type { KeyPair } from '../../key-pair.ts'
import type { Caller } from '../../management-access.ts'
import type { ConsoleSession, ConsoleSessions } from './console-sessions.ts'
import { sessionToken } from './session-cookie.ts'

/** What is needed of `ManagementAccess`. */
export interface PairJudge {
  identify(caller: Caller): ProvenKey
  check(presented: KeyPair, source: string): ProvenKey
  stillHolds(proof: KeyProof): KeyHolder | undefined
}

export interface ConsoleUser extends KeyHolder {
  readonly proof: KeyProof
  /** `undefined` for a program that sends its key pair with each request. */
  readonly session: ConsoleSession | undefined
}

/** A page of another origin cannot send this header without being allowed to, and nobody is. */
export const consoleHeader = 'x-sluice-console'

/** Decides who may use the console's API: the holder of a session, or of a key pair of the cluster's owner. */
export class ConsoleAccess {
  readonly #pairs: PairJudge
  readonly #sessions: ConsoleSessions
  readonly #mayUse: (enterprise: string) => boolean

  constructor(pairs: PairJudge, sessions: ConsoleSessions, mayUse: (enterprise: string) => boolean) {
    this.#pairs = pairs
    this.#sessions = sessions
    this.#mayUse = mayUse
  }

  logIn(pair: KeyPair, source: string): ConsoleSession & { readonly holder: KeyHolder } {
    const proven = this.#refusedAsLogin(() => this.#pairs.check(pair, source))
    this.#requireOwner(proven.holder)
    return { ...this.#sessions.open(proven.proof), holder: proven.holder }
  }

  logOut(request: IncomingMessage): void {
    const token = sessionToken(request.headers)
    if (token !== undefined) this.#sessions.close(token)
  }

  authenticate(request: IncomingMessage): ConsoleUser {
    const authorization = request.headersDistinct['authorization']
    if (authorization !== undefined) {
      const { holder, proof } = this.#pairs.identify({ authorization, source: request.socket.remoteAddress ?? '' })
      this.#requireOwner(holder)
      return { ...holder, proof, session: undefined }
    }
    const token = sessionToken(request.headers)
    const session = token === undefined ? undefined : this.#sessions.find(token)
    const holder = session && this.#pairs.stillHolds(session.proof)
    if (!session || !holder) throw new SluiceError('console_session_missing')
    return { ...holder, proof: session.proof, session }
  }

  /** Whether somebody who was let in would be again. */
  isStillValid({ proof, session }: ConsoleUser): boolean {
    if (session && this.#sessions.find(session.token) === undefined) return false
    return this.#pairs.stillHolds(proof) !== undefined
  }

  #requireOwner({ enterprise }: KeyHolder): void {
    if (!this.#mayUse(enterprise)) throw new SluiceError('console_of_another')
  }

  /** The usual words are about a header, which nobody at a login form has sent. */
  #refusedAsLogin(check: () => ProvenKey): ProvenKey {
    try {
      return check()
    } catch (error) {
      if (error instanceof SluiceError && error.code === 'credential_refused') {
        throw new SluiceError('console_login_refused', {}, { cause: error })
      }
      throw error
    }
  }
}

/** Refuses what a page of another origin may have caused in the browser of somebody who is logged in. */
export function requireOwnPage(request: IncomingMessage): void {
  const site = request.headers['sec-fetch-site']
  const isOwn = site === undefined || site === 'same-origin' || site === 'none'
  if (!isOwn || request.headers[consoleHeader] === undefined) throw new SluiceError('console_foreign_request')
}
