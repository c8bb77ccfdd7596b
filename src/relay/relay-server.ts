import type { Exchange } from './exchange.ts'

/** What answers requests. When it throws without having answered, the server answers 500 and closes the connection. */
export type Handler = (exchange: Exchange) => Promise<void>
