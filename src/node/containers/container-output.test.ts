import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isolationModes } from '../isolation/permitted-modes.fixture.ts'
import { RuntimeStage, never } from './running-containers.fixture.ts'

const permitted = isolationModes.some(({ mode, permitted: is }) => mode === 'namespaces' && is)

let stage: RuntimeStage
beforeEach(() => {
  stage = new RuntimeStage('namespaces')
})
afterEach(() => stage.close())

describe.skipIf(!permitted)('what a container says', () => {
  it('stays, in its order, however the container opens what it writes to', async () => {
    const script = `echo one; echo two >&2; echo three >/dev/stdout; echo four >/dev/stderr
      echo five >/proc/self/fd/1; sh -c 'echo six >>/dev/fd/2'; : >/dev/stdout; truncate -s 0 /dev/stdout; echo seven`
    const said = await stage.run(stage.launch(script))
    expect(said.split('\n').filter((line) => !line.startsWith('truncate'))).toEqual(
      'one two three four five six seven'.split(' '),
    )
  })

  it('can be opened again by users who are not root', async () => {
    const script = 'echo one; echo two >/dev/stdout; ls -lL /dev/stdout | cut -c 1'
    const launch = stage.launch(script, { securityContext: { runAsUser: 1000, runAsGroup: 1000 } })
    expect(await stage.run(launch)).toBe('one\ntwo\np')
  })

  it('is all there when the container is killed', async () => {
    const runtime = stage.runtime()
    const launch = stage.launch('seq 1 20000; echo all said >/tmp/said; exec sleep 3600')
    const running = await runtime.start(launch, never)
    const uid = launch.pod.metadata.uid ?? ''
    await runtime.exec(uid, 'main', ['/bin/sh', '-c', 'until [ -e /tmp/said ]; do sleep 0.01; done'], {}, never)
    await runtime.stop(uid, 0)
    expect(await running.exited).toMatchObject({ exitCode: 137 })
    expect(stage.said(launch.pod).split('\n')).toHaveLength(20_000)
  })

  it('goes on while nobody collects it, and is collected by whoever comes next', async () => {
    const first = stage.runtime()
    const launch = stage.launch('until [ -e /tmp/go ]; do sleep 0.01; done; seq 1 50000; echo done')
    const uid = launch.pod.metadata.uid ?? ''
    await first.start(launch, never)
    await first.exec(uid, 'main', ['/bin/touch', '/tmp/go'], {}, never)
    first.close()
    const second = stage.runtime()
    const [adopted] = await second.adopt()
    await adopted?.exited
    expect(stage.said(launch.pod).split('\n').at(-1)).toBe('done')
  })

  it('does not keep the container from ending when another has what it writes to', async () => {
    const volumes = [{ name: 'v', emptyDir: {} }]
    const volumeMounts = [{ name: 'v', mountPath: '/v' }]
    const giver = `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); until (connect(S, sockaddr_un("/v/s"))) { select(undef, undef, undef, 0.01) }
      $c = pack("Q l l l x4", 20, 1, 1, 1); $d = "x"; $i = pack("P Q", $d, 1); $m = pack("Q L x4 P Q P Q l x4", 0, 0, $i, 1, $c, 24, 0);
      syscall(${process.arch === 'arm64' ? 211 : 46}, fileno S, $m, 0) == 1 or die "not sent: $!"; sysread(S, $d, 1)'; echo given`
    const taker = `perl -MSocket -e 'unlink "/v/s"; socket(L, AF_UNIX, SOCK_STREAM, 0); bind(L, sockaddr_un("/v/s")); listen(L, 1); accept(S, L);
      $c = "\\0" x 24; $d = "x"; $i = pack("P Q", $d, 1); $m = pack("Q L x4 P Q P Q l x4", 0, 0, $i, 1, $c, 24, 0);
      syscall(${process.arch === 'arm64' ? 212 : 47}, fileno S, $m, 0) == 1 or die "not received: $!"; $fd = unpack("x16 l", $c);
      open(O, ">&=", $fd); syswrite(S, "x"); while (1) { syswrite(O, "y" x 4096) }'`
    const runtime = stage.runtime()
    const launch = stage.launch(giver, { volumeMounts }, { volumes })
    const other = { ...launch.container, name: 'other', args: [taker] }
    const pod = { ...launch.pod, spec: { ...launch.pod.spec, containers: [launch.container, other] } }
    await runtime.start({ ...launch, pod, container: other }, never)
    const running = await runtime.start({ ...launch, pod }, never)
    expect(await running.exited).toMatchObject({ exitCode: 0 })
    await runtime.stop(launch.pod.metadata.uid ?? '', 0)
  })
})
