// The settings of a node's programs, as files that they read.

export const podRange = '10.244.0.0/24'
export const serviceRange = '10.96.0.0/16'
export const nodeName = 'node-1'
export const pauseImage = { name: 'test/pause:1', imported: 'registry.local-1.localhost/test/pause:1' }

/** A kubeconfig for whoever has the token. The API server's certificate is for the name of its Service. */
export function kubeconfig(about: { readonly server: string; readonly ca: string; readonly token: string }): string {
  const { server, ca, token } = about
  const cluster = { server, 'certificate-authority': ca, 'tls-server-name': 'kubernetes.default.svc' }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'node', cluster }],
    users: [{ name: 'user', user: { token } }],
    contexts: [{ name: 'node', context: { cluster: 'node', user: 'user' } }],
    'current-context': 'node',
  })
}

export function containerdSettings(folder: string, networks: string): string {
  const runtime = 'plugins."io.containerd.grpc.v1.cri"'
  return `version = 2
root = "${folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd.sock"
[${runtime}]
  sandbox_image = "${pauseImage.imported}"
  restrict_oom_score_adj = true
  [${runtime}.cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${networks}"
  [${runtime}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [${runtime}.containerd.runtimes.runc.options]
      SystemdCgroup = false
`
}

export function networkSettings(folder: string): string {
  const addresses = {
    type: 'host-local',
    dataDir: `${folder}/addresses`,
    ranges: [[{ subnet: podRange }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  const bridge = {
    type: 'bridge',
    bridge: 'pods',
    isGateway: true,
    ipMasq: true,
    hairpinMode: true,
    ipam: addresses,
  }
  return JSON.stringify({ cniVersion: '0.4.0', name: 'pods', plugins: [bridge] })
}

export function kubeletSettings(about: { readonly address: string; readonly controlGroup: string }): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: about.address,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${about.controlGroup}`,
    failSwapOn: false,
    failCgroupV1: false,
    containerRuntimeEndpoint: 'unix:///run/containerd.sock',
    // Nobody but this machine's programs reaches it.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    readOnlyPort: 0,
    healthzPort: 0,
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    // How full the disk of the machine below is says nothing about this one.
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '0%', 'nodefs.inodesFree': '0%' },
  })
}

export function proxySettings(about: { readonly kubeconfig: string; readonly address: string }): string {
  return JSON.stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig: about.kubeconfig },
    hostnameOverride: nodeName,
    mode: 'iptables',
    // Pods of one bridge answer each other directly, past the translation of addresses.
    iptables: { masqueradeAll: true },
    clusterCIDR: podRange,
    bindAddress: about.address,
    // Limits of the whole machine's kernel stay as they are.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  })
}
