import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findProgram } from '../../src/node/isolation/detect-isolation.ts'
import { OutsideMachine } from '../support/outside-machine.ts'
import { SluiceProcess } from '../support/sluice-process.ts'

const minutes = (count: number) => count * 60_000
const mayMakeNetworks = process.getuid?.() === 0 && ['ip', 'nft', 'nsenter'].every((name) => findProgram(name))

/** Asks from another machine, with no trust in anything but the authority of the cluster. */
const askAll = `
  const { request } = require(process.env.URL.startsWith('https:') ? 'node:https' : 'node:http')
  const { URL: url, CA: ca, NAME: servername, HOST: host } = process.env
  const options = { ca, ...(servername && { servername }), headers: { ...(host && { host }) } }
  const asking = request(url, options, (response) => {
    response.resume().on('end', () => console.log(response.statusCode))
  })
  asking.on('error', (error) => console.log(error.code ?? error.message)).end()
`

describe.skipIf(!mayMakeNetworks)(
  `a machine of the network${mayMakeNetworks ? '' : ' (needs root, ip and nft)'}`,
  () => {
    const data = mkdtempSync(join(tmpdir(), 'sluice-lan-'))
    let outside: OutsideMachine
    let sluice: SluiceProcess
    let domain: string

    beforeAll(async () => {
      outside = OutsideMachine.open()
      const flags = ['--no-demo-model', '--host', outside.near, '--exposure-domain', 'sslip.io']
      sluice = await SluiceProcess.start(data, flags)
      domain = `${outside.near.replaceAll('.', '-')}.sslip.io`
    }, minutes(3))
    afterAll(() => {
      sluice.destroy()
      outside.close()
      rmSync(data, { recursive: true, force: true })
    })

    const ask = async (url: string, about: Record<string, string> = {}) => {
      const ca = readFileSync(join(data, 'pki/ca.crt'), 'utf8')
      return (await outside.run(askAll, { URL: url, CA: ca, ...about })).trim()
    }
    const at = (url: string, path: string) => {
      const { protocol, port } = new URL(url)
      return `${protocol}//${outside.near}:${port}${path}`
    }

    it('is told addresses at which it reaches everything, and that anybody may ask', async () => {
      expect(sluice.output).toContain(`http://${outside.near}:`)
      expect(sluice.output).toMatch(/WARNING: everybody who reaches this machine can use its models/)
      const [said] = sluice.output.match(/http:\/\/[\d.]+:\d+\/(?=\n)/) ?? []
      expect(await ask(`${said ?? ''}healthz`)).toBe('200')
    })

    it('trusts the certificate of the Kubernetes API at the address of this machine', async () => {
      expect(await ask(at(sluice.endpoints.controlPlane, '/healthz'))).toBe('200')
    })

    it('reaches exposed services by names that lead to this machine', async () => {
      const host = new URL(sluice.endpoints.gatewayExposed ?? '').hostname
      expect(host).toMatch(new RegExp(`^gateway-x-sluice-x-vks\\w+\\.${domain.replaceAll('.', '\\.')}$`))
      const url = at(sluice.endpoints.exposure, '/openai/v1/models')
      expect(await ask(url, { NAME: host, HOST: host })).toBe('200')
    })
  },
)
