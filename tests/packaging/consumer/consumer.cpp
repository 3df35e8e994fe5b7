/* SPDX-License-Identifier: Apache-2.0 */
// The smallest C++ user of the library: prints the name of the first parameter set.
#include <ciphermote/ciphermote.h>

#include <iostream>

int main()
{
    const cm_params *params = cm_params_by_id(cm_n1024_q26.id);
    if (params == nullptr) {
        return 1;
    }
    std::cout << params->name << '\n';
}
