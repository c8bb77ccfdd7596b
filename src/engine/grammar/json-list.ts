import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { nextTurn } from '../llama/loop-turn.ts'

type List = { readonly object: 'list'; readonly data: readonly object[] } & Readonly<Record<string, unknown>>

/** Sends a long list item by item: written in one go, 2,048 vectors take seconds and hundreds of megabytes. */
export async function sendJsonList(list: List, response: ServerResponse, signal: AbortSignal): Promise<void> {
  const { data, object, ...rest } = list
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write(`{"object":${JSON.stringify(object)},"data":[`)
  for (const [index, item] of data.entries()) {
    const taken = response.write(`${index === 0 ? '' : ','}${JSON.stringify(item)}`)
    if (taken) await nextTurn(signal)
    else await once(response, 'drain', { signal })
  }
  response.end(`],${JSON.stringify(rest).slice(1)}`)
}
