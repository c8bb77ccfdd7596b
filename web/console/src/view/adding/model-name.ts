const notInNames = /[^a-z0-9-]+/g

/** `hf:org/repo/Some_Model.Q4.gguf` → `some-model-q4` */
export function nameIn(source: string): string {
  const last = source.replace(/\/+$/, '').split('/').at(-1) ?? ''
  return last
    .replace(/@.*$/, '')
    .replace(/\.gguf$/i, '')
    .replace(/-\d{5}-of-\d{5}$/, '')
    .toLowerCase()
    .replace(notInNames, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 63)
}
