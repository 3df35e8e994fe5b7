/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The README's sensor.c, measured: cycles of sensor_send, and the RAM of all of it. What is sent is at the
 * start of the sensor's own arena, where it is encoded in place.
 */
#include "sensor.c"

#include "board.h"
#include "mark.h"
#include "report.h"
#include "workload.h"

int main(void)
{
    static workload_sink sink;
    const cm_platform platform = workload_platform();
    stack_paint();
    if (sensor_start(&platform, workload_sink_open(&sink)) != CM_OK) {
        return 1;
    }
    workload_values((uint8_t *)arena, 1);
    MARK_BEGIN(0);
    const cm_status status = sensor_send((const float *)(const void *)arena, WORKLOAD_VALUES);
    MARK_END(0);
    report("status", (uint32_t)status);
    report("emitted", sink.received);
    report("static", (uint32_t)static_bytes());
    report("stack", (uint32_t)stack_used());
    return status == CM_OK ? 0 : 1;
}
