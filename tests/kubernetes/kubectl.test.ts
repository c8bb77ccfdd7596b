import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { kubectlPath } from '../support/programs.ts'
import { configMap, deployment, model, pod } from './objects.ts'
import { onEachServer } from './on-each-server.ts'

const missing = kubectlPath === undefined ? ' (neither in $KUBEBUILDER_ASSETS nor on the PATH)' : ''

onEachServer((server) => {
  describe.skipIf(!kubectlPath)(`kubectl${missing}`, () => {
    it('finds the cluster and its resources', async () => {
      expect(await server.kubectl('cluster-info')).toContain(server.address.server)
      expect(await server.kubectl('version')).toMatch(/Server Version: v1\.34\.\d+/)
      const resources = await server.kubectl('api-resources')
      expect(resources).toMatch(/^models +mdl +sluice\.dev\/v1 +true +Model$/m)
      expect(resources).toMatch(/^pods +po +v1 +true +Pod$/m)
      expect(resources).toMatch(/^deployments +deploy +apps\/v1 +true +Deployment$/m)
      expect(await server.kubectl('api-versions')).toContain('sluice.dev/v1\n')
      expect(await server.kubectl('get --raw /readyz')).toBe('ok')
    })

    it('explains our kinds in words', async () => {
      for (const way of ['', ' --output=plaintext-openapiv2']) {
        const explained = async (field: string) =>
          (await server.kubectl(`explain ${field}${way}`)).replaceAll(/\s+/g, ' ')
        expect(await explained('model.spec.targetRequests')).toContain('Requests at a time that one replica is to have')
        expect(await explained('model')).toContain('A model that is served under its name.')
        expect(await explained('serviceexporter.status.url')).toContain('Where it is reached: https://')
      }
    })

    it('applies, again, and changed', async () => {
      for (const make of [
        (value: number) => deployment('d', server.image, { replicas: value }),
        (value: number) => model('m', { maxReplicas: value }),
      ]) {
        const { kind, metadata, apiVersion } = make(1)
        const name = `${kind.toLowerCase()}.${apiVersion.split('/')[0]}/${metadata.name}`
        expect(await server.kubectl('apply -f -', make(1))).toBe(`${name} created\n`)
        expect(await server.kubectl('apply -f -', make(1))).toBe(`${name} unchanged\n`)
        expect(await server.kubectl('apply -f -', make(2))).toBe(`${name} configured\n`)
      }
      expect(await server.kubectl('get deployment d -o jsonpath={.spec.replicas}/{.metadata.generation}')).toBe('2/2')
    })

    it('applies without taking back what others wrote', async () => {
      await server.kubectl('apply -f -', configMap('a', { data: { mine: '1', dropped: 'x' } }))
      await server.patch(server.path('configmaps/a'), 'merge', { data: { theirs: '2' } })
      await server.kubectl('apply -f -', configMap('a', { data: { mine: '3' } }))
      expect(await server.kubectl('get configmap a -o jsonpath={.data}')).toBe('{"mine":"3","theirs":"2"}')
    })

    it('prunes what is no longer in the manifest', async () => {
      const labels = { set: 'x' }
      const one = { ...configMap('one'), metadata: { name: 'one', labels } }
      const two = { ...configMap('two'), metadata: { name: 'two', labels } }
      await server.kubectl('apply -f -', { apiVersion: 'v1', kind: 'List', items: [one, two] })
      const prune = 'apply --prune -l set=x --prune-allowlist=core/v1/ConfigMap -f -'
      expect(await server.kubectl(prune, one)).toContain('configmap/two pruned')
    })

    it('applies on the server, and is told of conflicts', async () => {
      const owned = (value: string) => configMap('a', { data: { k: value } })
      expect(await server.kubectl('apply --server-side --field-manager=first -f -', owned('1'))).toBe(
        'configmap/a serverside-applied\n',
      )
      const conflict = await server.kubectlRefused('apply --server-side --field-manager=second -f -', owned('2'))
      expect(conflict).toContain('Apply failed with 1 conflict: conflict with "first": .data.k')
      await server.kubectl('apply --server-side --force-conflicts --field-manager=second -f -', owned('2'))
      expect(await server.kubectl('get configmap a -o jsonpath={.data.k}')).toBe('2')
    })

    it('shows what an apply would change', async () => {
      await server.kubectl('apply -f -', configMap('a', { data: { k: 'old' } }))
      const same = await server.tryKubectl('diff -f -', configMap('a', { data: { k: 'old' } }))
      expect([same.code, same.stdout]).toEqual([0, ''])
      const changed = await server.tryKubectl('diff -f -', configMap('a', { data: { k: 'new' } }))
      expect(changed.code, `it said ${changed.stderr}`).toBe(1)
      expect(changed.stdout).toMatch(/^-  k: old$/m)
      expect(changed.stdout).toMatch(/^\+  k: new$/m)
    })

    it('explains fields', async () => {
      const containers = await server.kubectl('explain pods.spec.containers')
      expect(containers).toMatch(/^KIND: +Pod\nVERSION: +v1\n/)
      expect(containers).toMatch(/^FIELD: containers <\[\]Container>$/m)
      expect(containers).toMatch(/^ {2}image\t<string>$/m)
      expect(containers).toMatch(/^ {2}name\t<string> -required-$/m)
      const replicas = await server.kubectl('explain deployment.spec.replicas')
      expect(replicas).toMatch(/^GROUP: +apps\nKIND: +Deployment\nVERSION: +v1\n\nFIELD: replicas <integer>$/m)
      const ours = await server.kubectl('explain model.spec')
      expect(ours).toMatch(/^GROUP: +sluice\.dev\nKIND: +Model\nVERSION: +v1$/m)
      expect(ours).toMatch(/^ {2}url\t<string> -required-$/m)
      expect(await server.kubectl('explain model --recursive')).toMatch(/^ +targetRequests\t<integer>$/m)
      expect(await server.kubectlRefused('explain pods.spec.colour')).toContain('field "colour" does not exist')
    })

    it('prints objects in many ways', async () => {
      await server.kubectl('apply -f -', pod('web', server.image, { nodeName: 'n1' }))
      expect(await server.kubectl('get pods')).toMatch(
        /^NAME +READY +STATUS +RESTARTS +AGE\nweb +0\/1 +Pending +0 +\d+s$/m,
      )
      expect(await server.kubectl('get pods -o wide')).toMatch(
        /^web +0\/1 +Pending +0 +\d+s +<none> +n1 +<none> +<none>$/m,
      )
      expect(await server.kubectl('get pod,configmap -o name')).toContain('pod/web')
      expect(await server.kubectl('get pods --show-labels')).toMatch(/ app=web$/m)
      expect(await server.kubectl('get pods -L app --no-headers')).toMatch(/ web$/m)
      expect(await server.kubectl('get pods -o custom-columns=N:.metadata.name,I:.spec.containers[*].image')).toContain(
        server.image,
      )
      expect(await server.kubectl('get pods --sort-by=.metadata.name -o name')).toBe('pod/web\n')
      expect(await server.kubectl('get pod web -o yaml')).toContain('kind: Pod\n')
      expect(await server.kubectl('get pods -o json')).toContain('"kind": "List"')
      expect(await server.kubectl('get all')).toMatch(/^pod\/web +0\/1/m)
      expect(await server.kubectl('describe pod web')).toMatch(new RegExp(`Image: +${server.image}`))
      expect(await server.kubectl('get pods --chunk-size=1 -A --no-headers')).toContain('web')
      expect(await server.kubectlRefused('get pod missing')).toBe(
        'Error from server (NotFound): pods "missing" not found\n',
      )
      expect(await server.kubectl('get configmaps')).toContain(`No resources found in ${server.namespace} namespace.`)
    })

    it('watches', async () => {
      const watch = server.followKubectl('get pods -w --no-headers')
      await server.kubectl('apply -f -', pod('early', server.image, { nodeName: 'n' }))
      expect(await watch.next()).toMatch(/^early +0\/1 +Pending/)
      await server.patch(server.path('pods/early/status'), 'merge', { status: { phase: 'Running' } })
      expect(await watch.next()).toMatch(/^early +0\/1 +Running/)
      await server.kubectl('delete pod early --wait=false')
      expect(await watch.next()).toMatch(/^early +0\/1 +Terminating/)
      watch.stop()
    })

    it('watches events as they come', async () => {
      const watch = server.followKubectl('get configmaps -w --output-watch-events --no-headers')
      await server.kubectl('create configmap a --from-literal=k=v')
      expect(await watch.next()).toMatch(/^ADDED +a +1 +\d+s$/)
      await server.kubectl('delete configmap a')
      expect(await watch.next()).toMatch(/^DELETED +a +1 +\d+s$/)
      watch.stop()
    })

    it('labels and annotates', async () => {
      await server.kubectl('create configmap a')
      expect(await server.kubectl('label configmap a tier=front')).toBe('configmap/a labeled\n')
      expect(await server.kubectlRefused('label configmap a tier=back')).toContain('--overwrite is false')
      expect(await server.kubectl('label configmap a tier=back --overwrite')).toBe('configmap/a labeled\n')
      expect(await server.kubectl('label configmap a tier-')).toBe('configmap/a unlabeled\n')
      expect(await server.kubectl('annotate configmap a note=kept')).toBe('configmap/a annotated\n')
      expect(await server.kubectl('get configmap a -o jsonpath={.metadata.labels}{.metadata.annotations}')).toBe(
        '{"note":"kept"}',
      )
      expect(await server.kubectlRefused(['label', 'configmap', 'a', 'bad=not a value'])).toContain(
        'a valid label must be',
      )
    })

    it('edits with an editor', async () => {
      const editor = join(server.folder, 'editor.sh')
      writeFileSync(editor, '#!/bin/sh\nsed -i s/before/after/ "$1"\n')
      chmodSync(editor, 0o755)
      await server.kubectl('create configmap a --from-literal=k=before')
      const edited = await server.tryKubectl('edit configmap a', undefined, { KUBE_EDITOR: editor })
      expect([edited.code, edited.stdout], `it said ${edited.stderr}`).toEqual([0, 'configmap/a edited\n'])
      expect(await server.kubectl('get configmap a -o jsonpath={.data.k}')).toBe('after')
      await server.kubectl('apply -f -', model('before'))
      const refused = await server.tryKubectl('edit model before', undefined, { KUBE_EDITOR: editor })
      expect(refused.code).not.toBe(0)
    })

    it('patches in every format', async () => {
      await server.kubectl('apply -f -', deployment('d', server.image))
      const image = server.image.replace(':1', ':2')
      const patch = JSON.stringify({ spec: { template: { spec: { containers: [{ name: 'main', image }] } } } })
      expect(await server.kubectl(['patch', 'deployment', 'd', '-p', patch])).toBe('deployment.apps/d patched\n')
      expect(await server.kubectl('get deployment d -o jsonpath={.spec.template.spec.containers[*].image}')).toBe(image)
      expect(await server.kubectl(['patch', 'deployment', 'd', '-p', patch])).toBe(
        'deployment.apps/d patched (no change)\n',
      )
      const json = '[{"op":"replace","path":"/spec/replicas","value":5}]'
      await server.kubectl(['patch', 'deployment', 'd', '--type=json', '-p', json])
      await server.kubectl(['patch', 'deployment', 'd', '--type=merge', '-p', '{"metadata":{"labels":{"x":"y"}}}'])
      await server.kubectl([
        'patch',
        'deployment',
        'd',
        '--subresource=status',
        '--type=merge',
        '-p',
        '{"status":{"replicas":5}}',
      ])
      expect(
        await server.kubectl('get deployment d -o jsonpath={.spec.replicas},{.metadata.labels.x},{.status.replicas}'),
      ).toBe('5,y,5')
      expect(await server.kubectl(`set image deployment/d main=${server.image}`)).toBe(
        'deployment.apps/d image updated\n',
      )
      expect(await server.kubectl('set env deployment/d A=1')).toBe('deployment.apps/d env updated\n')
    })

    it('replaces, and replaces by force', async () => {
      await server.kubectl('create configmap a --from-literal=k=1')
      const text = await server.kubectl('get configmap a -o json')
      expect(await server.kubectl('replace -f -', text.replace('"k": "1"', '"k": "2"'))).toBe('configmap/a replaced\n')
      expect(await server.kubectlRefused('replace -f -', text.replace('"k": "1"', '"k": "3"'))).toContain(
        'the object has been modified',
      )
      const forced = await server.kubectl('replace --force -f -', configMap('a', { data: { k: '4' } }))
      expect(forced).toContain('configmap/a replaced\n')
      expect(await server.kubectl('get configmap a -o jsonpath={.data.k}')).toBe('4')
    })

    it('scales what can be scaled', async () => {
      await server.kubectl('apply -f -', deployment('d', server.image))
      await server.kubectl('apply -f -', model('m'))
      expect(await server.kubectl('scale deployment d --replicas=3')).toBe('deployment.apps/d scaled\n')
      expect(await server.kubectl('scale model m --replicas=1')).toBe('model.sluice.dev/m scaled\n')
      expect(await server.kubectlRefused('scale deployment d --current-replicas=9 --replicas=1')).toContain(
        'Expected replicas to be 9, was 3',
      )
      expect(await server.kubectl('get deployment d -o jsonpath={.spec.replicas}')).toBe('3')
    })

    it('follows a rollout whose status others write', async () => {
      await server.kubectl('apply -f -', deployment('d', server.image))
      const rollout = server.followKubectl('rollout status deployment/d --timeout=30s')
      expect(await rollout.next()).toBe('Waiting for deployment spec update to be observed...')
      const report = (status: object) =>
        server.patch(server.path('deployments/d/status', 'apps/v1'), 'merge', {
          status: { observedGeneration: 1, ...status },
        })
      await report({ replicas: 2, updatedReplicas: 1 })
      const lines = [await rollout.next()]
      while (!lines.at(-1)?.includes('1 out of 2 new replicas have been updated')) lines.push(await rollout.next())
      await report({ replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 })
      while (!lines.at(-1)?.includes('successfully rolled out')) lines.push(await rollout.next())
      expect(lines.at(-1)).toBe('deployment "d" successfully rolled out')
      expect(await server.kubectl('get deployment d')).toMatch(/^d +2\/2 +2 +2 +\d+s$/m)
    })

    it('waits for a condition, a field and a deletion', async () => {
      await server.kubectl('apply -f -', pod('p', server.image, { nodeName: 'n' }))
      const ready = server.kubectl('wait --for=condition=Ready pod/p --timeout=30s')
      const running = server.kubectl('wait --for=jsonpath={.status.phase}=Running pod/p --timeout=30s')
      await server.patch(server.path('pods/p/status'), 'merge', {
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      })
      expect(await ready).toBe('pod/p condition met\n')
      expect(await running).toBe('pod/p condition met\n')
      expect(await server.kubectlRefused('wait --for=condition=Ready=False pod/p --timeout=1s')).toContain('timed out')
      await server.kubectl('delete pod p --wait=false')
      const deleted = server.kubectl('wait --for=delete pod/p --timeout=30s')
      await server.ok('DELETE', server.path('pods/p?gracePeriodSeconds=0'))
      await deleted
      const created = server.kubectl('wait --for=create configmap/late --timeout=30s')
      await server.kubectl('create configmap late')
      expect(await created).toBe('configmap/late condition met\n')
    })

    it('deletes by name, by label, all, and by force', async () => {
      for (const name of ['a', 'b', 'c']) await server.kubectl(`create configmap ${name}`)
      await server.kubectl('label configmap b kill=yes')
      expect(await server.kubectl('delete configmap a')).toContain('configmap "a" deleted')
      expect(await server.kubectl('delete configmaps -l kill=yes')).toContain('configmap "b" deleted')
      expect(await server.kubectl('delete configmaps --all')).toContain('configmap "c" deleted')
      expect(await server.kubectl('delete configmap a --ignore-not-found')).toBe('')
      expect(await server.kubectlRefused('delete configmap a')).toContain('configmaps "a" not found')
      await server.kubectl('apply -f -', pod('held', server.image, { nodeName: 'n' }))
      expect(await server.kubectlRefused('delete pod held --timeout=1s')).toContain(
        'timed out waiting for the condition',
      )
      expect(await server.kubectl('delete pod held --force')).toContain('pod "held" force deleted')
    })

    it('creates what it can make up itself', async () => {
      expect(await server.kubectl('create configmap c --from-literal=a=b')).toBe('configmap/c created\n')
      expect(await server.kubectl('create secret generic s --from-literal=k=v')).toBe('secret/s created\n')
      expect(await server.kubectl('get secret s -o jsonpath={.data.k}/{.type}')).toBe('dg==/Opaque')
      expect(await server.kubectl('create service clusterip web --tcp=80:http')).toBe('service/web created\n')
      expect(await server.kubectl('describe service web')).toMatch(/TargetPort: +http\/TCP/)
      expect(await server.kubectl('create serviceaccount robot')).toBe('serviceaccount/robot created\n')
      expect(await server.kubectl('create quota q --hard=pods=5')).toBe('resourcequota/q created\n')
      expect(await server.kubectl('create role r --verb=get --resource=pods')).toBe(
        'role.rbac.authorization.k8s.io/r created\n',
      )
      expect(await server.kubectl(`create rolebinding rb --role=r --serviceaccount=${server.namespace}:robot`)).toBe(
        'rolebinding.rbac.authorization.k8s.io/rb created\n',
      )
      expect(await server.kubectl(`create deployment d --image=${server.image}`)).toBe('deployment.apps/d created\n')
      expect(await server.kubectl(`create job j --image=${server.image}`)).toBe('job.batch/j created\n')
      expect(await server.kubectl(`run p --image=${server.image}`)).toBe('pod/p created\n')
      expect(await server.kubectl('expose pod p --port=80')).toBe('service/p exposed\n')
    })

    it('tries things out on the server', async () => {
      expect(await server.kubectl('apply --dry-run=server -f -', configMap('preview'))).toBe(
        'configmap/preview created (server dry run)\n',
      )
      expect(await server.kubectlRefused('get configmap preview')).toContain('not found')
    })

    it('is told of fields that are not there', async () => {
      const output = await server.kubectlRefused('apply -f -', { ...deployment('d', server.image), spek: {} })
      expect(output).toContain('strict decoding error: unknown field "spek"')
      const ours = await server.kubectlRefused('apply -f -', model('m', { colour: 'blue' }))
      expect(ours).toContain('unknown field "spec.colour"')
    })

    it('prints every rule that a Model breaks', async () => {
      const output = await server.kubectlRefused('apply -f -', model('bad', { url: 'http://x', minReplicas: -1 }))
      expect(output).toContain('The Model "bad" is invalid')
      expect(output).toMatch(/spec\.url: Invalid value: .*must have the form pvc:/)
      expect(output).toContain('spec.minReplicas: Invalid value: -1')
    })

    it('cordons a node and shows it', async () => {
      const name = `node-${server.namespace}`
      await server.ok('POST', '/api/v1/nodes', { metadata: { name } })
      await server.patch(`/api/v1/nodes/${name}/status`, 'merge', { status: { capacity: { cpu: '4' } } })
      expect(await server.kubectl(`cordon ${name}`)).toBe(`node/${name} cordoned\n`)
      expect(await server.kubectl(`get node ${name}`)).toMatch(/SchedulingDisabled/)
      expect(await server.kubectl(`taint node ${name} only=mine:NoSchedule`)).toBe(`node/${name} tainted\n`)
      expect(await server.kubectl(`describe node ${name}`)).toMatch(/Unschedulable: +true/)
      expect(await server.kubectl(`uncordon ${name}`)).toBe(`node/${name} uncordoned\n`)
    })

    it('lists events of an object', async () => {
      const { metadata } = await server.ok('POST', server.path('models', 'sluice.dev/v1'), model('m'))
      await server.ok('POST', server.path('events'), {
        metadata: { name: 'e' },
        involvedObject: {
          apiVersion: 'sluice.dev/v1',
          kind: 'Model',
          name: 'm',
          namespace: server.namespace,
          uid: metadata.uid,
        },
        reason: 'Woken',
        message: 'a request arrived',
        type: 'Normal',
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
        count: 1,
      })
      expect(await server.kubectl('events --for model/m')).toMatch(/Normal +Woken +Model\/m +a request arrived/)
      expect(await server.kubectl('describe model m')).toMatch(/Woken/)
    })
  })
})
