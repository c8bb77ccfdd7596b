import { describe, expect, it } from 'vitest'
import { commands, findCommand } from './commands.ts'
import { parseFlags } from './flags.ts'
import { renderCommandHelp, renderHelp } from './help.ts'
import { upCommand, upOptions } from './up.ts'

describe('flags of sluice up', () => {
  const parse = (...args: string[]) => upOptions(parseFlags(upCommand.flags, args))

  it('has the documented defaults', () => {
    expect(parse()).toEqual({
      data: '.sluice',
      host: '127.0.0.1',
      ports: { management: 8080, controlPlane: 6443, gateway: 8000, exposure: 22443 },
      clusterName: undefined,
      center: undefined,
      gpus: undefined,
      nodes: 1,
      config: undefined,
      bodyLimitBytes: 32 * 1024 * 1024,
      finishedPodLimit: 1000,
      eventTtlMs: 3_600_000,
      auditLog: { fileBytes: 32 * 1024 * 1024, olderFiles: 3 },
      usageRetentionDays: 400,
      requireApiKeys: false,
      trustedProxies: '127.0.0.1,::1',
      idleWindowMs: 600_000,
      wakeDeadlineMs: 600_000,
      cardPreemption: true,
      podNetwork: 'detect',
      podIpv6: true,
      demoModel: true,
      gateway: true,
    })
  })

  it('reads every flag', () => {
    const options = parse(
      '--gateway-port',
      '0',
      '--gpus=nvidia.com/gpu-h800=8',
      '--nodes=2',
      '--idle-window',
      '2.5',
      '--event-ttl',
      '600',
      '--audit-log-maxsize',
      '100',
      '--audit-log-maxbackup',
      '9',
      '--no-demo-model',
      '--no-gateway',
    )
    expect(options).toMatchObject({
      gpus: 'nvidia.com/gpu-h800=8',
      nodes: 2,
      idleWindowMs: 2500,
      eventTtlMs: 600_000,
      auditLog: { fileBytes: 100 * 1024 * 1024, olderFiles: 9 },
      demoModel: false,
      gateway: false,
    })
    expect(options.ports.gateway).toBe(0)
  })

  it.each([
    [['--gateway-port', '70000'], '--gateway-port: "70000" is not a number from 0 to 65535'],
    [['--gateway-port', '80.5'], '--gateway-port: "80.5" is not a whole number'],
    [['--gateway-port', ''], '--gateway-port: "" is not a number'],
    [['--idle-window', 'soon'], '--idle-window: "soon" is not a number'],
    [['--event-ttl', '5'], '--event-ttl: "5" is not a number from 60'],
    [['--audit-log-maxbackup', '0'], '--audit-log-maxbackup: "0" is not a number from 1 to 100'],
    [['--cards', '3'], "Unknown option '--cards'"],
    [['--gateway-prot', '3'], "Unknown option '--gateway-prot'. Did you mean --gateway-port"],
    [['--data'], 'argument missing'],
    [['--center', 'Mars'], '--center: "Mars" must have the form <site>-<n>'],
  ])('refuses %j by name', (args, message) => {
    expect(() => parse(...args)).toThrow(message)
  })
})

describe('commands', () => {
  it('are found by one word or two', () => {
    expect(findCommand(['model', 'pull', 'smollm2'])?.rest).toEqual(['smollm2'])
    expect(findCommand(['up', '--host', '::1'])?.command.name).toBe('up')
    expect(findCommand(['model'])).toBeUndefined()
  })

  it('are all in the help, with all their flags', () => {
    for (const command of commands.filter(({ hidden }) => hidden !== true)) {
      expect(renderHelp(commands)).toContain(command.summary)
      for (const flag of command.flags) expect(renderCommandHelp(command)).toContain(`--${flag.name}`)
    }
  })
})
