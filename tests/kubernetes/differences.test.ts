import { describe, expect, it } from 'vitest'
import { pod } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

onEachServer((server) => {
  describe('on purpose, the embedded server', () => {
    it('takes images only from the registry of its compute center', async () => {
      const answer = await server.http('POST', server.path('pods'), pod('p', 'docker.io/library/nginx'))
      const refusal = "is not from this cluster's registry; use registry.lab-1.localhost/<repository>:<tag>"
      const said = expect.stringContaining(refusal) as string
      const expected = server.differs('image registry') ? [422, said] : [201, undefined]
      expect([answer.code, answer.body.message]).toEqual(expected)
    })

    it('opens no ports on nodes', async () => {
      const spec = { type: 'NodePort', ports: [{ port: 80 }] }
      const answer = await server.http('POST', server.path('services'), { metadata: { name: 's' }, spec })
      const refusal = expect.stringContaining('ServiceExporter') as string
      const expected = server.differs('node ports') ? [422, refusal] : [201, undefined]
      expect([answer.code, answer.body.message]).toEqual(expected)
    })
  })
})
