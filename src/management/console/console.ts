import type { IncomingMessage, ServerResponse } from 'node:http'
import { BuiltPage, type PageRules } from '../../foundation/built-page.ts'
import type { Clock } from '../../foundation/clock.ts'
import { SluiceError, errorMessage } from '../../foundation/errors.ts'
import type { Logger } from '../../foundation/log.ts'
import { StatusError } from '../../resources/status-error.ts'
import { type Answer, failure, success } from '../envelope.ts'
import { queryOf } from '../management-routes.ts'
import { AddModel } from './actions/add-model.ts'
import { Arrivals } from './actions/arrivals.ts'
import { Changes } from './actions/changes.ts'
import { keyActions } from './actions/key-actions.ts'
import { modelActions } from './actions/model-actions.ts'
import { modelManifest } from './actions/model-manifest.ts'
import { ModelMaker } from './actions/new-model.ts'
import { UploadModel } from './actions/upload-model.ts'
import { type ConsoleRequest, type ConsoleRoute, answered, findRoute } from './console-routes.ts'
import type { ConsoleWorld } from './console-world.ts'
import { ConsoleFeed } from './live/console-feed.ts'
import { LiveStreams } from './live/live-streams.ts'
import { OpenAnswers } from './open-answers.ts'
import { auditRead } from './reads/audit-read.ts'
import { podReads } from './reads/pod-reads.ts'
import { ConsoleAccess, type PairJudge, requireOwnPage } from './session/console-access.ts'
import { ConsoleSessions } from './session/console-sessions.ts'
import { consoleApiPrefix } from './session/session-cookie.ts'
import { SessionRoutes } from './session/session-routes.ts'

const pageRules = {
  policy: ["require-trusted-types-for 'script'"],
  headers: [
    ['cross-origin-opener-policy', 'same-origin'],
    ['cross-origin-resource-policy', 'same-origin'],
  ],
} satisfies PageRules

export interface ConsoleOptions {
  readonly world: ConsoleWorld
  readonly pairs: PairJudge
  readonly mayUse: (enterprise: string) => boolean
  readonly clock: Clock
  readonly log: Logger
}

/**
 * The console: a page at `/`, and the API it talks to. Whatever it shows comes from the caches of this process, and
 * whatever it changes is a write to a resource.
 */
export class Console {
  readonly #access: ConsoleAccess
  readonly #page: BuiltPage | undefined
  readonly #feed: ConsoleFeed
  readonly #streams: LiveStreams
  readonly #open: OpenAnswers
  readonly #session: SessionRoutes
  readonly #arrivals = new Arrivals()
  readonly #routes: readonly ConsoleRoute[]

  constructor({ world, pairs, mayUse, clock, log }: ConsoleOptions) {
    this.#access = new ConsoleAccess(pairs, new ConsoleSessions(() => clock.now()), mayUse)
    this.#page = loadPage(world.pageDirectory, log)
    this.#feed = new ConsoleFeed(world, clock)
    this.#streams = new LiveStreams(this.#feed, clock)
    this.#open = new OpenAnswers(clock)
    this.#session = new SessionRoutes({ access: this.#access, world, now: () => clock.now() })
    const changes = new Changes(world, clock, log)
    const maker = new ModelMaker(world, changes)
    this.#arrivals.onChange = this.#feed.add(this.#arrivals)
    this.#routes = [
      ...this.#session.routes,
      { method: 'GET', pattern: 'live', run: (asked) => this.#streams.open(asked) },
      { method: 'GET', pattern: 'history', run: () => this.#feed.history.view() },
      ...podReads(world),
      auditRead(world),
      ...modelActions(world, changes),
      ...modelManifest(world, changes),
      ...this.#arrivals.routes,
      ...new AddModel(world, maker, this.#arrivals).routes,
      ...new UploadModel(world, maker, this.#arrivals, clock).routes,
      ...keyActions(world, changes, clock),
    ]
  }

  start(): void {
    this.#feed.start()
  }

  /** Ends the answers that would go on for ever. */
  stop(): void {
    this.#arrivals.stop()
    this.#open.endAll()
    this.#feed.stop()
  }

  owns(path: string): boolean {
    return path.startsWith(consoleApiPrefix) || this.#page?.has(path) === true
  }

  /** Writes the answer itself, or returns what to answer. */
  async handle(request: IncomingMessage, response: ServerResponse, path: string): Promise<Answer | undefined> {
    const { method = '' } = request
    const left = new AbortController()
    response.on('close', () => left.abort(new Error('the client has left')))
    try {
      if (!path.startsWith(consoleApiPrefix)) return this.#servePage(request, response, path)
      const isRead = method === 'GET'
      if (!isRead) requireOwnPage(request)
      if (path === `${consoleApiPrefix}session` && method === 'POST') return await this.#session.logIn(request)
      if (path === `${consoleApiPrefix}session` && method === 'DELETE') return this.#session.logOut(request)
      // Checked before the route is looked for, so that strangers do not learn what there is.
      const user = this.#access.authenticate(request)
      const { route, params } = findRoute(this.#routes, method, path)
      const asked: ConsoleRequest = {
        request,
        response,
        user,
        query: new URLSearchParams(queryOf(request.url ?? '/')),
        signal: left.signal,
        keepOpen: () => this.#open.add(response, left, () => this.#access.isStillValid(user)),
        param: (name) => params.get(name) ?? '',
      }
      const data = await route.run(asked)
      return data === answered ? undefined : success(data)
    } catch (error) {
      if (left.signal.aborted) return undefined
      // Part of an answer was sent: only cutting it off tells that it is not whole.
      if (response.headersSent) response.destroy()
      return refusal(error)
    }
  }

  #servePage(request: IncomingMessage, response: ServerResponse, path: string): undefined {
    const { method = '' } = request
    if (method !== 'GET' && method !== 'HEAD') {
      throw new SluiceError('method_not_allowed', { path, method, allowed: 'GET, HEAD' })
    }
    const page = this.#page?.answer(path, request.headers['if-none-match'])
    if (page === undefined) throw new SluiceError('management_route_not_found', { path })
    const length = page.body && { 'content-length': page.body.length }
    response.writeHead(page.status, { ...Object.fromEntries(page.headers), ...length })
    response.end(method === 'HEAD' ? undefined : page.body)
    return undefined
  }
}

/** The API is served even if the page's files are missing. */
function loadPage(directory: string, log: Logger): BuiltPage | undefined {
  try {
    return BuiltPage.load(directory, pageRules)
  } catch (error) {
    log.warn({ directory, reason: errorMessage(error) }, 'there is no console page to serve')
    return undefined
  }
}

function refusal(error: unknown): Answer {
  if (error instanceof SluiceError) {
    const { allowed } = error.details
    const answer = failure(error)
    return allowed === undefined ? answer : { ...answer, headers: { ...answer.headers, allow: String(allowed) } }
  }
  // What the cluster refuses is told in its own words: they say what to do.
  if (error instanceof StatusError) {
    return { ...failure(new SluiceError('cluster_refused', { reason: error.message })), status: error.code }
  }
  throw error
}
