import { z } from 'zod'
import type { Logger } from '../../../foundation/log.ts'
import type { FilterTool } from '../filter-tool.ts'

export interface ForwardingPassOptions {
  readonly tool: FilterTool
  /** The name of our own table, by which our rules in another's are known. */
  readonly table: string
  /** How the names of the Pods' cables begin. */
  readonly cables: string
  /** Whether Pods have addresses of IPv6, too. */
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
 * What `nft -j list chains` says: those of others that let nothing be forwarded but what they name, and where Docker
 * wants rules of others.
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
 * Lets Pods through where the machine forwards nothing by itself, as where Docker runs: whatever our own chains accept,
 * another's drop is the last word. In the table of iptables there is room for rules of others, and network plugins put
 * theirs there; anybody else's table is left alone, and people are told.
 */
export class ForwardingPass {
  readonly #options: ForwardingPassOptions
  #remark: string | undefined

  constructor(options: ForwardingPassOptions) {
    this.#options = options
  }

  /** What people should know. */
  get remark(): string | undefined {
    return this.#remark
  }

  get #families(): readonly string[] {
    return this.#options.withIpv6 ? ['ip', 'ip6'] : ['ip']
  }

  /** To be called now and then: others come and go, and take rules with them. */
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

  /** Nothing of ours stays in another's table. */
  async remove(): Promise<void> {
    const places = this.#families.flatMap((family) => [`${family} filter DOCKER-USER`, `${family} filter FORWARD`])
    for (const place of places) {
      // Most machines have no such chain.
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
