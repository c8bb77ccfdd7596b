import { describe, expect, it } from 'vitest'
import { podKind } from '../../resources/pod.ts'
import { type Service, serviceSchema } from '../../resources/service.ts'
import { serviceVariables } from './service-variables.ts'

const pod = (spec: Record<string, unknown> = {}) =>
  podKind.schema.parse({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'team' },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  })

const service = (name: string, namespace: string, spec: Record<string, unknown>): Service =>
  serviceSchema.parse({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace }, spec })

const services = [
  service('kubernetes', 'default', { clusterIP: '127.200.0.1', ports: [{ name: 'https', port: 443 }] }),
  service('my-db', 'team', { clusterIP: '127.200.0.2', ports: [{ port: 5432 }] }),
  service('headless', 'team', { clusterIP: 'None', ports: [{ port: 80 }] }),
  service('elsewhere', 'other', { clusterIP: '127.200.0.3', ports: [{ port: 80 }] }),
]

describe('the variables of a Pod', () => {
  it('say where the Services of its namespace and the API server are, as links of old did', () => {
    expect(serviceVariables(pod(), services)).toEqual({
      KUBERNETES_SERVICE_HOST: '127.200.0.1',
      KUBERNETES_SERVICE_PORT: '443',
      KUBERNETES_SERVICE_PORT_HTTPS: '443',
      KUBERNETES_PORT: 'tcp://127.200.0.1:443',
      KUBERNETES_PORT_443_TCP: 'tcp://127.200.0.1:443',
      KUBERNETES_PORT_443_TCP_PROTO: 'tcp',
      KUBERNETES_PORT_443_TCP_PORT: '443',
      KUBERNETES_PORT_443_TCP_ADDR: '127.200.0.1',
      MY_DB_SERVICE_HOST: '127.200.0.2',
      MY_DB_SERVICE_PORT: '5432',
      MY_DB_PORT: 'tcp://127.200.0.2:5432',
      MY_DB_PORT_5432_TCP: 'tcp://127.200.0.2:5432',
      MY_DB_PORT_5432_TCP_PROTO: 'tcp',
      MY_DB_PORT_5432_TCP_PORT: '5432',
      MY_DB_PORT_5432_TCP_ADDR: '127.200.0.2',
    })
  })

  it('are only those of the API server when it wants no others', () => {
    const names = Object.keys(serviceVariables(pod({ enableServiceLinks: false }), services))
    expect(names.every((name) => name.startsWith('KUBERNETES_'))).toBe(true)
    expect(names).toContain('KUBERNETES_SERVICE_HOST')
  })
})
