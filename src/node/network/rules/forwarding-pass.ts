import { z } from 'zod'
import type { Logger } from '../../../foundation/log.ts'
import type { FilterTool } from '../filter-tool.ts'

export interface ForwardingPassOptions {
  readonly tool: FilterTool
  /** Our table's name, which marks our rules in other tables. */
  readonly table: string
  /** The prefix of the Pods' network devices. */
  readonly cables: string
  /** Whether Pods have IPv6 addresses, too. */
  readonly withIpv6?: boolean
  readonly log: Logger
}

const chainsSchema = z.object({
  nftables: z.array(
    z.object({
      chain: z
        .object({
          family: z.string(),
          table: z.string(),
          name: z.string(),
          hook: z.string().optional(),
          policy: z.string().optional(),
        })
        .optional(),
    }),
  ),
})

export interface ForeignChain {
  readonly family: string
  readonly table: string
  readonly name: string
}

/**
 * Reads `nft -j list chains`: foreign chains that drop forwarded packets by default, and the address families in which
 * Docker's chain for user rules exists.
 */
export function readForeignChains(
  json: string,
  own: string,
  families: readonly string[],
): { readonly closed: readonly ForeignChain[]; readonly dockerUser: ReadonlySet<string> } {
  const { nftables } = chainsSchema.parse(JSON.parse(json))
  const chains = nftables.flatMap(({ chain }) => (chain && chain.table !== own ? [chain] : []))
  const closed = chains.filter(
    ({ family, hook, policy }) => hook === 'forward' && policy === 'drop' && ['inet', ...families].includes(family),
  )
  const forOthers = chains.filter((chain) => isOfIptables(chain) && chain.name === 'DOCKER-USER')
  return { closed, dockerUser: new Set(forOthers.map(({ family }) => family)) }
}

/**
 * Lets Pods through foreign firewalls that drop forwarded packets, as Docker's does: what our chains accept, another
 * chain can still drop. Rules are added only to iptables' tables, where others (Docker, network plugins) put theirs,
 * too; other tables are left alone, and the operator is told.
 */
export class ForwardingPass {
  readonly #options: ForwardingPassOptions
  #remark: string | undefined

  constructor(options: ForwardingPassOptions) {
    this.#options = options
  }

  /** A remark for the operator. */
  get remark(): string | undefined {
    return this.#remark
  }

  get #families(): readonly string[] {
    return this.#options.withIpv6 ? ['ip', 'ip6'] : ['ip']
  }

  /** Call it now and then: other programs come and go, and may remove our rules. */
  async ensure(): Promise<void> {
    const { tool, table, cables } = this.#options
    const chains = await tool.read(['-j', 'list', 'chains'])
    const { closed, dockerUser } = readForeignChains(chains, table, this.#families)
    const others = closed.filter((chain) => !isForwardOfIptables(chain))
    this.#remark = others.length === 0 ? undefined : remarkOn(others, cables)
    for (const { family } of closed.filter(isForwardOfIptables)) {
      await this.#letThrough(`${family} filter ${dockerUser.has(family) ? 'DOCKER-USER' : 'FORWARD'}`)
    }
  }

  async #letThrough(place: string): Promise<void> {
    const { tool, table, cables, log } = this.#options
    if ((await this.#handles(place)).length === 2) return
    await this.#removeFrom(place)
    const rule = (side: string) => `insert rule ${place} ${side} "${cables}*" counter accept comment "${table}"\n`
    await tool.apply(rule('iifname') + rule('oifname'))
    log.info({ place }, 'Pods are let through where the machine forwards nothing by itself')
  }

  /** Removes all our rules from foreign tables. */
  async remove(): Promise<void> {
    const places = this.#families.flatMap((family) => [`${family} filter DOCKER-USER`, `${family} filter FORWARD`])
    for (const place of places) {
      // Most machines do not have this chain.
      await this.#removeFrom(place).catch(() => {})
    }
  }

  async #removeFrom(place: string): Promise<void> {
    const lines = (await this.#handles(place)).map((handle) => `delete rule ${place} handle ${handle}\n`)
    if (lines.length > 0) await this.#options.tool.apply(lines.join(''))
  }

  async #handles(place: string): Promise<string[]> {
    const listed = await this.#options.tool.read(['-a', 'list', 'chain', ...place.split(' ')])
    return listed.split('\n').flatMap((line) => {
      if (!line.includes(`comment "${this.#options.table}"`)) return []
      return /# handle (\d+)$/.exec(line)?.[1] ?? []
    })
  }
}

function isOfIptables({ family, table }: ForeignChain): boolean {
  return ['ip', 'ip6'].includes(family) && table === 'filter'
}

function isForwardOfIptables(chain: ForeignChain): boolean {
  return isOfIptables(chain) && chain.name === 'FORWARD'
}

function remarkOn(chains: readonly ForeignChain[], cables: string): string {
  const names = chains.map(({ family, table, name }) => `${family} ${table} ${name}`).join(', ')
  return (
    `A firewall of this machine lets nothing be forwarded (${names}): Pods may reach neither each other nor what is outside, ` +
    `unless it lets through what comes from and goes to devices whose names begin with ${cables}.`
  )
}
