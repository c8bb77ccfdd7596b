import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type * as http from 'node:http'
import * as https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ExposureRoute } from '../../exposure/plan-host.ts'
import { startUpstream } from '../../gateway/gateway.fixture.ts'
import { fakePod } from '../../traffic/cluster-view.fixture.ts'
import { CertificateAuthority } from '../data/certificates.ts'
import { DataDirectory } from '../data/data-directory.ts'
import { ask, startThreads, until } from './serving-threads.fixture.ts'

const shop = 'shop-x-web-x-c1.local-1.localhost'
const echo = (_request: unknown, response: http.ServerResponse) => void response.end('{"answer":true}')

/** A certificate for the hosts of a compute center, and the authority that issued it. */
async function certify() {
  const directory = DataDirectory.open(mkdtempSync(join(tmpdir(), 'sluice-serving-')))
  onTestFinished(() => {
    directory.close()
    rmSync(directory.root, { recursive: true, force: true })
  })
  const authority = await CertificateAuthority.open(directory, Date.now())
  return { ca: authority.certificate, tls: await authority.issueServer(['*.local-1.localhost'], Date.now()) }
}

function routesOf(...first: ExposureRoute[]) {
  let now = first
  const listeners = new Set<(change: 'all') => void>()
  return {
    get routes() {
      return new Map(now.map((route) => [route.host, route]))
    },
    find: (host: string) => now.find((route) => route.host === host),
    onChange: (listener: (change: 'all') => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    become: (...routes: ExposureRoute[]) => {
      now = routes
      for (const listener of listeners) listener('all')
    },
  }
}

function askEdge(port: number, ca: string, host = shop): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = https.get(
      { host: '127.0.0.1', port, servername: host, ca, agent: false, headers: { host } },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    request.on('error', reject)
  })
}

describe('one serving thread', () => {
  it('serves awake and sleeping models like several, and the chat page', async () => {
    const upstream = await startUpstream(echo)
    const page = mkdtempSync(join(tmpdir(), 'sluice-page-'))
    onTestFinished(() => rmSync(page, { recursive: true, force: true }))
    writeFileSync(join(page, 'index.html'), '<h1>chat</h1>')
    const { pods, pool, port, url } = await startThreads({ count: 1, chatPageDirectory: page })
    const asked = ask(port)
    await until(() => pool.sample('tiny')?.waiting === 1)
    pods.put(fakePod('one', { host: '127.0.0.1', port: upstream.port }))
    expect(await asked.answer).toEqual({ status: 200, body: '{"answer":true}' })
    expect(await (await fetch(url)).text()).toBe('<h1>chat</h1>')
    expect((await fetch(`${url}/readyz`)).status).toBe(200)
    await until(() => pool.sample('tiny')?.active === 0)
  })

  it('is started again on the same ports when it is lost, which is told', async () => {
    const upstream = await startUpstream(echo)
    const { tls, ca } = await certify()
    const endpoints = [{ host: '127.0.0.1', port: upstream.port }]
    const routes = routesOf({ host: shop, cluster: 'c1', exporter: 'web/shop', endpoints })
    const { pods, port, threads, serving, news, metrics } = await startThreads({
      count: 1,
      exposure: { tls: { current: tls, onChange: () => () => {} }, routes },
    })
    const edge = await serving.listen('exposure', '127.0.0.1', 0)
    pods.put(fakePod('one', { host: '127.0.0.1', port: upstream.port }))
    expect(await askEdge(edge.port, ca)).toBe(200)
    await metrics.text()
    await threads[0]?.kill()
    await until(() => news.length === 2)
    expect(news).toMatchObject([{ type: 'lost', row: 1 }, { type: 'back', row: 1 }]) // prettier-ignore
    expect(await ask(port).answer).toMatchObject({ status: 200 })
    expect(await askEdge(edge.port, ca)).toBe(200)
    await until(async () =>
      (await metrics.text()).includes(
        'sluice_exposure_requests_total{cluster="c1",exporter="web/shop",status="200"} 2',
      ),
    )
  })
})

describe('the edge in serving threads', () => {
  it('knows the routes when it listens, hears of changes, and counts with the others', async () => {
    const upstream = await startUpstream(echo)
    const { tls, ca } = await certify()
    const route = (host: string) => ({
      host,
      cluster: 'c1',
      exporter: `web/${host}`,
      endpoints: [{ host: '127.0.0.1', port: upstream.port }],
    })
    const routes = routesOf(route(shop))
    const { serving, metrics } = await startThreads({
      exposure: { tls: { current: tls, onChange: () => () => {} }, routes },
    })
    const other = shop.replace('shop', 'other')
    routes.become(route(shop), route(other))
    const { port } = await serving.listen('exposure', '127.0.0.1', 0)
    const statuses = (host: string) =>
      Promise.all(Array.from({ length: 20 }, () => askEdge(port, ca, host))).then((all) => [...new Set(all)])
    expect(await statuses(shop)).toEqual([200])
    expect(await statuses(other)).toEqual([200])
    routes.become(route(other))
    await until(async () => (await statuses(shop)).join() === '404')
    expect(await statuses(other)).toEqual([200])
    const line = `sluice_exposure_requests_total{cluster="c1",exporter="web/${other}",status="200"} 40`
    await until(async () => (await metrics.text()).includes(line))
  })
})
