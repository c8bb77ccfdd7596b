import { HttpClient, type Target } from './http-client.ts'

export type Ask = (client: HttpClient, index: number) => Promise<unknown>

/** Opens the connections, sends the requests, closes the connections, and returns the requests per second. */
export async function perSecond(target: Target, clients: number, requests: number, ask: Ask): Promise<number> {
  const connections = await Promise.all(Array.from({ length: clients }, () => HttpClient.open(target)))
  try {
    let next = 0
    const startedAt = performance.now()
    await Promise.all(
      connections.map(async (client) => {
        for (let index = next++; index < requests; index = next++) await ask(client, index)
      }),
    )
    return requests / ((performance.now() - startedAt) / 1000)
  } finally {
    for (const client of connections) client.close()
  }
}
