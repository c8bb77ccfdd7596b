// A reporter for Vitest: writes down why `beforeAll` and `afterAll` failed, a line of JSON each, in the file that
// SLUICE_FAILED_HOOKS names. The report in JSON says nothing of them.
import { appendFileSync } from 'node:fs'

export default class FailedHooks {
  onTestSuiteResult(suite) {
    for (const error of suite.errors()) {
      const message = error.stack ?? error.message ?? String(error)
      const line = JSON.stringify({ file: suite.module.moduleId, suite: suite.fullName, message })
      appendFileSync(process.env.SLUICE_FAILED_HOOKS, `${line}\n`)
    }
  }
}
