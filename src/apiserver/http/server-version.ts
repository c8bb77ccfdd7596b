import process from 'node:process'

const productVersion = '0.1.0'

/** `/version`: the Kubernetes version whose API this is, and the name of this server. */
export const serverVersion = {
  major: '1',
  minor: '34',
  gitVersion: `v1.34.0+sluice.${productVersion}`,
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: 'node',
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
}
