import { readFileSync } from 'node:fs'

/** The share of its processor time that a virtual machine did not get between two samples. */
export class StolenTime {
  #before = look()

  share(): number {
    const now = look()
    const { stolen, all } = this.#before
    this.#before = now
    return now.all === all ? 0 : (now.stolen - stolen) / (now.all - all)
  }
}

function look(): { readonly stolen: number; readonly all: number } {
  const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/) ?? []
  // user nice system idle iowait irq softirq steal; the remaining fields are already counted in the first two.
  const counted = ticks.slice(0, 8).map(Number)
  return { stolen: counted[7] ?? 0, all: counted.reduce((sum, value) => sum + value, 0) }
}
