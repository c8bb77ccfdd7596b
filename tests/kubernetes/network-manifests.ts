import type { Manifest } from './core-manifests.ts'

/** As in core-manifests.ts, for the kinds that direct connections, and for templates. */
type Fields = Record<string, unknown>

const networking = 'networking.k8s.io/v1'
const containers = [{ name: 'a', image: 'registry.lab-1.localhost/x' }]
const backend = { service: { name: 'web', port: { number: 80 } } }

const endpoints = (...subsets: Fields[]): Manifest => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name: 'e1' },
  subsets,
})
const template = (spec: Fields): Manifest => ({
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name: 't1' },
  template: { metadata: { labels: { a: 'b' } }, spec: { containers, ...spec } },
})
const ingress = (spec: Fields, metadata: Fields = {}): Manifest => ({
  apiVersion: networking,
  kind: 'Ingress',
  metadata: { name: 'i1', ...metadata },
  spec,
})
const path = (...paths: Fields[]) => ingress({ rules: [{ http: { paths } }] })
const ingressClass = (spec: Fields): Manifest => ({
  apiVersion: networking,
  kind: 'IngressClass',
  metadata: { name: 'c1' },
  spec,
})
const address = (name: string, parentRef?: Fields): Manifest => ({
  apiVersion: networking,
  kind: 'IPAddress',
  metadata: { name },
  spec: { parentRef },
})

export const acceptedNetworkManifests: readonly Manifest[] = [
  endpoints(),
  endpoints({ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }),
  endpoints({
    addresses: [{ ip: '10.1.2.3', hostname: 'h', nodeName: 'n', targetRef: { kind: 'Pod', name: 'p' } }],
    notReadyAddresses: [{ ip: 'fd00::1' }],
    ports: [
      { name: 'a', port: 80 },
      { name: 'b', port: 53, protocol: 'UDP' },
    ],
  }),
  template({}),
  ingress({ defaultBackend: backend }),
  ingress({
    ingressClassName: 'c',
    rules: [{ host: '*.example.com', http: { paths: [{ path: '/a', pathType: 'Prefix', backend }] } }, { host: 'b.c' }],
    tls: [{ hosts: ['example.com'], secretName: 's' }],
  }),
  path({ pathType: 'ImplementationSpecific', backend: { resource: { kind: 'Bucket', name: 'x', apiGroup: 'a.b' } } }),
  ingressClass({ controller: 'example.com/ingress' }),
  ingressClass({
    controller: 'example.com/x',
    parameters: { kind: 'K', name: 'n', scope: 'Namespace', namespace: 'd' },
  }),
  address('255.255.255.255', { group: 'g', resource: 'things', namespace: 'n', name: 'x' }),
  address('fe80::1', { resource: 'services', name: 'x' }),
]

export const refusedNetworkManifests: readonly Manifest[] = [
  endpoints({ ports: [{ port: 80 }] }),
  endpoints({ addresses: [{ ip: 'x' }], ports: [{ port: 0 }] }),
  endpoints({ addresses: [{ ip: '127.0.0.1' }], notReadyAddresses: [{ ip: '169.254.0.1' }] }),
  endpoints({ addresses: [{ ip: '10.1.2.3', hostname: 'A_' }], ports: [{ port: 1, name: 'A_', protocol: 'X' }] }),
  endpoints({ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 1 }, { port: 2 }] }),
  template({ containers: [] }),
  template({ restartPolicy: 'Sometimes' }),
  ingress({}),
  ingress({ defaultBackend: {} }),
  ingress({ defaultBackend: { ...backend, resource: { kind: 'K', name: 'n' } } }),
  ingress({ defaultBackend: { service: { name: '', port: {} } } }),
  ingress({ defaultBackend: { service: { name: 'A_', port: { name: 'A_' } } } }),
  ingress({ defaultBackend: { service: { name: 'a', port: { name: 'a', number: 1 } } } }),
  ingress({ defaultBackend: { service: { name: 'a', port: { number: 70_000 } } } }),
  ingress({ defaultBackend: { resource: { apiGroup: 'A_', kind: '', name: 'a/b' } } }),
  ingress({ defaultBackend: backend, ingressClassName: 'A_' }),
  ingress({ defaultBackend: backend, ingressClassName: 'a' }, { annotations: { 'kubernetes.io/ingress.class': 'b' } }),
  ingress({ defaultBackend: backend, tls: [{ hosts: ['A_', '*', '*.a'], secretName: 'A_' }] }),
  ingress({ rules: [{ host: '10.1.2.3' }, { host: 'a*.b' }, { host: 'A_' }, { http: { paths: [] } }] }),
  path({ path: '/a', backend }),
  path({ path: 'a', pathType: 'Exact', backend }, { path: 'a', pathType: 'ImplementationSpecific', backend }),
  path({ path: '/a//b/./c/../d%2f%2Fe/..', pathType: 'Prefix', backend }),
  path({ path: '/a', pathType: 'Other', backend }),
  ingressClass({}),
  ingressClass({ controller: 'example.com' }),
  ingressClass({ controller: 'A_/x y' }),
  ingressClass({ controller: 'a.b/c', parameters: { kind: '', name: '' } }),
  ingressClass({ controller: 'a.b/c', parameters: { kind: 'K', name: 'n', scope: 'Other' } }),
  ingressClass({ controller: 'a.b/c', parameters: { kind: 'K', name: 'n', scope: 'Namespace' } }),
  address('10.1.2.3'),
  address('somewhere', { resource: 'services', name: 'x' }),
  address('10.1.2.3', { group: 'A_', resource: '', namespace: 'a/b', name: '' }),
]
