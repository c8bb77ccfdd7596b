// Prints docs/reference/errors.md from the catalog: `node scripts/write-error-docs.ts > docs/reference/errors.md`.
import { errorCatalog } from '../src/foundation/error-catalog.ts'

console.log(`# Errors

Every error has a code. At the inference endpoints it is \`error.code\` of OpenAI's error object (with \`message\`, \`type\` and
\`param\`); the management API answers \`{"code":-1,"msg":…}\` with the message below; commands print the message. The control
plane answers with Kubernetes' own \`Status\` and its reasons instead. Words in braces are filled in.

| code | status | message |
|---|---|---|`)
for (const [code, { status, message }] of Object.entries(errorCatalog)) {
  console.log(`| \`${code}\` | ${status} | ${message.replaceAll('|', '\\|')} |`)
}
