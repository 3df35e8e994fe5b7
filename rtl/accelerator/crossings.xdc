# SPDX-License-Identifier: Apache-2.0
# Timing of what crosses between aclk and axis_aclk in cm_stream_clocks, for Vivado:
#     read_xdc -ref cm_stream_clocks rtl/accelerator/crossings.xdc
# A tool that knows nothing of this treats the clocks as related, or ignores the paths. With other tools, give
# the same bounds: no path below takes longer than a period of the faster clock, so that bits of a count
# arrive less than a count apart, and a word is there before the count that announces it.
set aclk [get_clocks -of_objects [get_ports aclk]]
set axis_aclk [get_clocks -of_objects [get_ports axis_aclk]]
set period [expr {min([get_property PERIOD $aclk], [get_property PERIOD $axis_aclk])}]

# Counts of the queues, in Gray code.
foreach queue {u_in u_out} {
    foreach count {written_gray read_gray} {
        set from [get_cells "${queue}/${count}_reg[*]"]
        set to [get_cells "${queue}/${count}_near_reg[*]"]
        set_max_delay -datapath_only -from $from -to $to $period
        set_bus_skew -from $from -to $to $period
    }
    # Words, which are read two cycles of the reading clock or more after they were written.
    set words [get_cells "${queue}/beats_reg*"]
    set_max_delay -datapath_only -from $words $period
}

# The handshake of the resets.
set_max_delay -datapath_only -from [get_cells request_reg] -to [get_cells {request_seen_reg[0]}] $period
set_max_delay -datapath_only -from [get_cells answer_reg] -to [get_cells {answer_seen_reg[0]}] $period
