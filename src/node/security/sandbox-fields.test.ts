import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import type { ProcessRuntime } from '../process-runtime.ts'
import { RuntimeStage, Sink, never } from '../containers/running-containers.fixture.ts'

const permitted =
  isolationModes.some(({ mode, permitted: is }) => mode === 'namespaces' && is) && process.getuid?.() === 0
const facts = String.raw`awk '/^(Uid|Gid|Groups|CapEff|CapBnd|NoNewPrivs|Seccomp):/ { $1 = $1; print }' /proc/self/status`
/** CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE SYS_CHROOT MKNOD AUDIT_WRITE SETFCAP */
const usualRights = '00000000a80405fb'
const nothing = '0000000000000000'

describe.skipIf(!permitted)('a security context', () => {
  let stage: RuntimeStage
  let runtime: ProcessRuntime
  beforeEach(() => {
    stage = new RuntimeStage('namespaces')
    runtime = stage.runtime()
  })
  afterEach(() => stage.close())

  const run = (script: string, ofContainer: object = {}, ofPod: object = {}, more: Record<string, unknown> = {}) =>
    stage.run(
      stage.launch(
        script,
        { securityContext: ofContainer, ...(more['container'] as object) },
        { securityContext: ofPod, ...(more['spec'] as object) },
      ),
      runtime,
    )

  /** A line of the kernel's status of a program, by its name. */
  const status = (text: string) =>
    new Map(text.split('\n').map((line) => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 2)] as const))

  it('that is not there leaves root the rights that runtimes give, and no call that reaches beyond', async () => {
    const said = status(await run(facts))
    expect(said.get('Uid')).toBe('0 0 0 0')
    expect(said.get('CapEff')).toBe(usualRights)
    expect(said.get('CapBnd')).toBe(usualRights)
    expect(said.get('NoNewPrivs')).toBe('0')
    expect(said.get('Seccomp')).toBe('2')
  })

  it('makes the program another user and group, with the groups that are asked for and no others', async () => {
    const said = status(
      await run(facts, { runAsUser: 1234 }, { runAsGroup: 2345, supplementalGroups: [7, 8], fsGroup: 9 }),
    )
    expect(said.get('Uid')).toBe('1234 1234 1234 1234')
    expect(said.get('Gid')).toBe('2345 2345 2345 2345')
    expect(said.get('Groups')?.split(' ').toSorted()).toEqual(['7', '8', '9'])
    expect(said.get('CapEff')).toBe(nothing)
  })

  it('gives volumes to the group, with all that is in them, and lets every container write to scratch space', async () => {
    const claim = join(stage.dataDir, 'volumes/data')
    mkdirSync(join(claim, 'deep'), { recursive: true })
    writeFileSync(join(claim, 'deep/file'), 'before', { mode: 0o600 })
    chmodSync(join(claim, 'deep'), 0o700)
    const volumes = [
      { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'scratch', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
    ]
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }))
    const more = { container: { volumeMounts }, spec: { volumes } }
    const script =
      'cat /data/deep/file; echo; echo now >/data/deep/file; for v in data scratch memory; do echo x >/$v/new; stat -c "%g %a" /$v/new /$v; done'
    const said = await run(script, { runAsUser: 1000, runAsGroup: 1000 }, { fsGroup: 5000 }, more)
    const [before, ...modes] = said.split('\n')
    expect(before).toBe('before')
    expect(modes.filter((_, index) => index % 2 === 0).map((line) => line.split(' ')[0])).toEqual([
      '5000',
      '5000',
      '5000',
    ])
    for (const line of modes.filter((_, index) => index % 2 === 1))
      expect(line).toMatch(/^5000 27[67][567]$|^5000 2777$/)
    expect(readFileSync(join(claim, 'deep/file'), 'utf8')).toBe('now\n')
    expect(statSync(join(claim, 'deep/file')).gid).toBe(5000)

    const without = 'echo x >/scratch/a; echo x >/memory/a; stat -c %a /scratch /memory'
    expect(await run(without, { runAsUser: 1000 }, {}, more)).toBe('777\n777')
  })

  it('takes rights away and adds them, for the program and for all that it runs', async () => {
    const dropped = status(await run(facts, { capabilities: { drop: ['ALL'] } }))
    expect([dropped.get('CapEff'), dropped.get('CapBnd')]).toEqual([nothing, nothing])
    const some = status(await run(facts, { capabilities: { drop: ['ALL'], add: ['CHOWN', 'CAP_SYS_NICE'] } }))
    expect([some.get('CapEff'), some.get('CapBnd')]).toEqual(['0000000000800001', '0000000000800001'])
    const asUser = status(await run(facts, { runAsUser: 1000, capabilities: { add: ['SYS_NICE'] } }))
    expect([asUser.get('CapEff'), asUser.get('CapBnd')]).toEqual([nothing, '00000000a88405fb'])
    expect(await run('chown 1 /tmp && echo given', { capabilities: { drop: ['CHOWN'] } })).not.toContain('given')
  })

  it('keeps programs from gaining rights', async () => {
    const said = status(await run(facts, { allowPrivilegeEscalation: false }))
    expect(said.get('NoNewPrivs')).toBe('1')
  })

  it('makes the root read-only, but neither volumes nor what programs need', async () => {
    const volumes = [{ name: 'scratch', emptyDir: {} }]
    const more = { container: { volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }] }, spec: { volumes } }
    const script =
      'for f in /tmp/x /x /etc/x /var/x; do (echo >$f) 2>/dev/null && echo "wrote $f"; done; for f in /scratch/x /dev/shm/x /dev/null; do echo x >$f && echo "may write $f"; done'
    expect(await run(script, { readOnlyRootFilesystem: true }, {}, more)).toBe(
      'may write /scratch/x\nmay write /dev/shm/x\nmay write /dev/null',
    )
    // Also where a folder of the machine is covered by a layer.
    const within = {
      container: { volumeMounts: [{ name: 'scratch', mountPath: '/usr/bin/deep/scratch' }] },
      spec: { volumes },
    }
    const inLayer = 'echo x >/usr/bin/deep/scratch/x && echo may; (echo x >/usr/bin/x) 2>/dev/null && echo wrote; true'
    expect(await run(inLayer, { readOnlyRootFilesystem: true }, {}, within)).toBe('may')
    expect(await run(inLayer, {}, {}, within)).toBe('may\nwrote')
    expect(await run('for f in /tmp/x /x /etc/x /var/x; do echo >$f && echo wrote; done')).toBe(
      'wrote\nwrote\nwrote\nwrote',
    )
  })

  it('refuses calls that reach beyond the container, and runs ordinary programs', async () => {
    const calls =
      process.arch === 'arm64'
        ? {
            mount: 40,
            unshare: 97,
            setns: 268,
            keyctl: 219,
            bpf: 280,
            io_uring_setup: 425,
            fsopen: 430,
            open_tree: 428,
          }
        : {
            mount: 165,
            unshare: 272,
            setns: 308,
            keyctl: 250,
            bpf: 321,
            io_uring_setup: 425,
            fsopen: 430,
            open_tree: 428,
          }
    const ask = Object.entries(calls).map(
      ([name, number]) => `syscall(${number}, 0, 0, 0, 0, 0, 0); print "${name} ", 0 + $!, "\\n";`,
    )
    const clone = `$n = ${process.arch === 'arm64' ? 220 : 56}; syscall($n, 0x10000011, 0, 0, 0, 0); print "clone ", 0 + $!, "\\n"; syscall(435, 0, 0); print "clone3 ", 0 + $!, "\\n"; syscall(9999); print "unknown ", 0 + $!, "\\n";`
    const said = await run(`perl -e '${ask.join(' ')} ${clone}'`, { seccompProfile: { type: 'RuntimeDefault' } })
    expect(said.split('\n')).toEqual(
      [...Object.keys(calls), 'clone'].map((name) => `${name} 1`).concat('clone3 38', 'unknown 38'),
    )
    const programs = `${process.execPath} -e 'const { Worker } = require("worker_threads"); new Worker("console.log(6 * 7)", { eval: true })'; sh -c 'sleep 0 & wait; echo | sort; ls / >/dev/null && echo ran'`
    expect((await run(programs)).replace(/\n+/g, '\n')).toBe('42\nran')
    expect(status(await run(facts, {}, { seccompProfile: { type: 'Unconfined' } })).get('Seccomp')).toBe('0')
  })

  it('sets what of the kernel is the Pod’s own', async () => {
    const sysctls = [{ name: 'kernel.shm_rmid_forced', value: '1' }]
    expect(await run('cat /proc/sys/kernel/shm_rmid_forced', {}, { sysctls })).toBe('1')
    expect(readFileSync('/proc/sys/kernel/shm_rmid_forced', 'utf8')).toBe('0\n')
  })

  it.each<[string, object, object, string]>([
    ['privileged', { privileged: true }, {}, 'securityContext.privileged'],
    ['a right over the machine', { capabilities: { add: ['SYS_ADMIN'] } }, {}, 'SYS_ADMIN would reach beyond'],
    ['all rights', { capabilities: { add: ['ALL'] } }, {}, 'securityContext.capabilities'],
    ['a view of all of /proc', { procMount: 'Unmasked' }, {}, 'securityContext.procMount'],
    ['a filter of its own', { seccompProfile: { type: 'Localhost', localhostProfile: 'x' } }, {}, 'Localhost'],
    ['root where root is not to be', {}, { runAsNonRoot: true }, 'image will run as root'],
    ['root by number where root is not to be', { runAsUser: 0 }, { runAsNonRoot: true }, 'non-root policy'],
    ['a setting of the machine', {}, { sysctls: [{ name: 'kernel.core_pattern', value: '|/x' }] }, 'forbidden sysctl'],
    [
      'a setting of a network it does not have',
      {},
      { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '0' }] },
      'sysctls',
    ],
  ])('that asks for %s is refused by the name of its field', async (_what, ofContainer, ofPod, words) => {
    const launch = stage.launch('echo ran', { securityContext: ofContainer }, { securityContext: ofPod })
    await expect(runtime.start(launch, never)).rejects.toThrow(words)
  })

  it('holds for what is run beside the program, too', async () => {
    const contexts: [object, object][] = [
      [{}, {}],
      [
        { runAsUser: 1000, runAsGroup: 1000 },
        { supplementalGroups: [7], fsGroup: 9 },
      ],
      [
        {
          runAsUser: 1000,
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        { seccompProfile: { type: 'RuntimeDefault' } },
      ],
      [{ capabilities: { drop: ['ALL'], add: ['CHOWN'] } }, { seccompProfile: { type: 'Unconfined' } }],
    ]
    const script = `${facts}; umask; pwd; echo "$HOME"; cat /proc/self/cgroup; ulimit -n; readlink /proc/self/ns/*`
    for (const [ofContainer, ofPod] of contexts) {
      const limits = { resources: { limits: { memory: '256Mi' } } }
      const launch = stage.launch(
        `${script}; echo >/home/pod/done; exec sleep 3600`,
        { ...limits, securityContext: ofContainer },
        { securityContext: ofPod },
      )
      const running = await runtime.start(launch, never)
      const uid = launch.pod.metadata.uid ?? ''
      const beside = new Sink()
      await runtime.exec(
        uid,
        'main',
        ['/bin/sh', '-c', `until [ -e /home/pod/done ]; do :; done; ${script}`],
        { stdout: beside, stderr: beside },
        never,
      )
      await runtime.stop(uid, 0)
      await running.exited
      // The cgroup namespace differs, with the same root.
      const comparable = (text: string) => text.trim().replaceAll(/cgroup:\[\d+\]/g, 'cgroup')
      expect(comparable(beside.text)).toBe(comparable(stage.said(launch.pod)))
    }
  })

  it('lets a program of another user open its output by name', async () => {
    const script = 'echo first >>/dev/stdout; echo second >>/dev/stderr'
    expect(await run(script, { runAsUser: 1000 })).toBe('first\nsecond')
    // The machine's own device must not have been given away.
    expect(statSync('/dev/null').uid).toBe(0)
  })
})
