/** `<vendor>.com/gpu-<model>` */
const cardPattern = /^([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)\.com\/gpu-([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)$/

/** Names that are spelled neither in capitals nor capitalized. */
const spellings: Readonly<Record<string, string>> = {
  pcie: 'PCIe',
  ascend: 'Ascend',
  radeon: 'Radeon',
  geforce: 'GeForce',
}
const vendors: Readonly<Record<string, string>> = { nvidia: 'NVIDIA', amd: 'AMD', intel: 'Intel', huawei: 'Huawei' }

export function isCardName(resource: string): boolean {
  return cardPattern.test(resource)
}

/** For example `nvidia.com/gpu-h800-pcie` → `NVIDIA H800 PCIe`. */
export function cardDisplayName(resource: string): string {
  const [, vendor, model] = cardPattern.exec(resource) ?? []
  if (vendor === undefined || model === undefined) return resource
  const words = model.split('-').map((word) => spellings[word] ?? word.toUpperCase())
  return [vendors[vendor] ?? capitalized(vendor), ...words].join(' ')
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
