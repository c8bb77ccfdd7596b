import { hostileAccess } from './hostile-access.fixture.ts'
import type { HostileInput } from './hostile-calls.fixture.ts'
import { hostileDefinitions } from './hostile-definitions.fixture.ts'
import { hostileObjects } from './hostile-objects.fixture.ts'
import { hostilePatches } from './hostile-patches.fixture.ts'
import { hostileProtobuf } from './hostile-protobuf.fixture.ts'
import { hostileYaml } from './hostile-yaml.fixture.ts'

/** Bodies that are made to cost as much as possible, by what is wrong with them. */
export const hostileInputs: readonly HostileInput[] = [
  ...hostileProtobuf,
  ...hostileYaml,
  ...hostileObjects,
  ...hostileAccess,
  ...hostilePatches,
  ...hostileDefinitions,
]
