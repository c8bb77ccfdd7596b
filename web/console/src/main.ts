import { part } from '../../src/view/element.ts'
import { ConsoleApi } from './api/console-api.ts'
import { ConsoleApp } from './console-app.ts'

void new ConsoleApp(part('console', HTMLElement), new ConsoleApi()).start()
