// The stand-in as a program, to look at the dashboard without a server. MERCER_TOKEN: it asks for that token.
//
//   npm run fake -- [PORT] [RUNNING_JOBS] [EVENTS_PER_SECOND]
import { FakeServer } from './fake_server.mjs';

const [port = '0', runningJobs = '3', eventsPerSecond = '4'] = process.argv.slice(2);
const server = new FakeServer({ runningJobs: Number(runningJobs), eventsPerSecond: Number(eventsPerSecond), token: process.env.MERCER_TOKEN });
console.log(await server.start(Number(port)));
